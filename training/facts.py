"""``DataFacts``: what is known of the samples, as far as a model and a task have to know it. No torch here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import JsonValue, TypeAdapter
from pydantic_core import to_jsonable_python

Layout = Literal["image", "vector", "tokens", "list"]
"""How the inputs lie in a batch of B samples: "image" float32 (B, C, H, W), "vector" float32 (B, F), "tokens" int64 (B, T),
"list" float32 (B, L, F), the items of one query."""

Target = Literal["class", "labels", "values", "mask", "tokens", "ranks", "tasks"]
"""What is to be learned: "class" int64 (B,), or float32 (B, classes) once samples are mixed; "labels" float32 (B, K), 0 or 1;
"values" float32 (B, K); "tasks" float32 (B, K), each a value or the number of a class; "mask" int64 (B, H, W); "tokens" int64 (B, T), the one after each; "ranks" float32 (B, L), how well
each item suits its query, NaN where a list has none."""

IGNORED = -100
"""In masks and tokens: a place that is not learned from (torch's ``ignore_index``)."""
IGNORED_PIXEL = 255
"""The same in a mask that still lies beside its image, as uint8."""


DatePart = Literal["year", "month", "weekday", "hour"]
Part = DatePart | Literal["hash"]


@dataclass(frozen=True)
class Derivation:
    """How a feature is computed from a ``column`` of the file: a part of its date or time, which is written in the ``form`` (as
    ``strptime`` has it, "" for ISO 8601) and lies from ``low`` to ``high`` (ISO 8601, "" of times of day) in the training rows; or the
    CRC-32 of its text in one of ``buckets``. ``core.readers.cell_reading`` computes both."""

    column: str
    part: Part
    form: str = ""
    low: str = ""
    high: str = ""
    buckets: int = 0


@dataclass(frozen=True)
class TableForm:
    """``derived``: for each feature how it is computed, None for a column as it stands. Numbers that stand there as texts are written
    with ``thousands`` and ``decimal``."""

    derived: tuple[Derivation | None, ...]
    thousands: str = ""
    decimal: str = "."


@dataclass(frozen=True)
class DataFacts:
    """What a model and an objective are built from; kept in each checkpoint's manifest.

    All statistics are those of the training samples alone. Before the data was read (a preview) they are empty.
    """

    layout: Layout
    shape: tuple[int, ...]
    """One sample as the model sees it, without the batch: (C, H, W), (F,), (T,) or (L, F)."""
    target: Target
    names: tuple[str, ...]
    """Of the classes, the labels or the values to predict, or the vocabulary's tokens."""
    samples: int = 0
    """How many are trained on."""
    counts: tuple[int, ...] = ()
    """For each name: training samples of that class or with that label; for masks and tokens the places, as far as they
    were counted."""
    target_mean: tuple[float, ...] = ()
    target_std: tuple[float, ...] = ()
    """Of each value to predict."""
    columns: tuple[str, ...] = ()
    """Names of the features of "vector" and "list", where they have any."""
    categories: tuple[int, ...] = ()
    """For each feature: how many codes it may take, 0 being "unknown"; 0 for a feature that is a number. Empty: all are
    numbers."""
    codes: tuple[tuple[str, ...], ...] = ()
    """For each feature: what its codes 1, 2, ... stand for; none for a number. With it an exported model can be used."""
    vocabulary: str = ""
    """How text becomes tokens: "characters", "bytes" or "bpe"; "" for other data. ``data.vocabulary`` makes use of it."""
    merges: tuple[str, ...] = ()
    """The rules of byte pairs in their order, each "left right"; with ``names`` all that encoding a text needs."""
    ranges: tuple[tuple[float, float] | None, ...] = ()
    """For each feature of "vector" and "list": the least and the largest number of the training samples; None of one that is no number.
    Empty where nobody looked."""
    target_classes: tuple[tuple[str, ...], ...] = ()
    """Of "tasks": the classes of each name, none of one that is a value."""
    target_counts: tuple[tuple[int, ...], ...] = ()
    """Of "tasks": training samples of each of those classes."""
    table: TableForm | None = None
    """What else reading a row takes; None where each feature is a column as it stands, and numbers are written as usual."""

    @property
    def dense(self) -> bool:
        """Whether every pixel or token is predicted instead of the sample as a whole."""
        return self.target in ("mask", "tokens")

    def derivation(self, place: int) -> Derivation | None:
        """How the feature at ``place`` is computed; None for a column as it stands."""
        return self.table.derived[place] if self.table is not None and self.table.derived else None

    def marked_column(self, place: int) -> str | None:
        """The column whose gaps the feature at ``place`` marks; None for any other feature."""
        name = self.columns[place] if self.columns else ""
        column = name.removesuffix(" missing")
        return column if column != name and column in self.columns[:place] else None

    def record(self) -> dict[str, JsonValue]:
        """As JSON can hold it."""
        plain: dict[str, JsonValue] = to_jsonable_python(self)
        return plain

    @classmethod
    def from_record(cls, record: Mapping[str, JsonValue]) -> DataFacts:
        """Undo ``record``; unknown keys are left alone. ValueError when something is missing or another thing."""
        return TypeAdapter(cls).validate_json(json.dumps(dict(record)), strict=True)


@dataclass(frozen=True)
class TaskPlace:
    """Which outputs of a network answer one of several targets, from ``first`` to before ``last``; ``classes`` is empty for a
    value. Two classes are answered by one logit, for the second."""

    name: str
    classes: tuple[str, ...]
    first: int
    last: int


def place_tasks(facts: DataFacts) -> tuple[TaskPlace, ...]:
    """The places of the targets of "tasks", one behind the other."""
    places: list[TaskPlace] = []
    for name, classes in zip(facts.names, facts.target_classes, strict=True):
        first = places[-1].last if places else 0
        places.append(TaskPlace(name, classes, first, first + (len(classes) if len(classes) > 2 else 1)))
    return tuple(places)


def lies_outside(number: float, span: tuple[float, float]) -> bool:
    """Whether ``number`` is less or greater than all of a span of numbers that were read in 32 bits: its ends as a file writes them lie
    in it."""
    with np.errstate(over="ignore"):
        return not span[0] <= float(np.float32(number)) <= span[1]


def show_span(span: tuple[float, float]) -> str:
    """Its ends as a person reads them: "46 to 5,140"."""
    return f"{show_number(span[0])} to {show_number(span[1])}"


def show_number(number: float) -> str:
    """With groups of thousands and the digits that 32 bits tell apart."""
    with np.errstate(over="ignore"):
        short = float(str(np.float32(number)))
    return f"{short if np.isfinite(short) else number:,.9g}"
