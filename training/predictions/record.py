"""``evaluation.json``: a checkpoint measured on data, and what lies beside it for each sample."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from training.facts import Layout, Target
from training.runs.folder import RunFolder
from training.runs.records.forms import Count, FileFacts

FORMAT: Final = 1
RECORD: Final = "evaluation.json"
NAMES: Final = "names.json"
DIGESTS: Final = "digests.txt"
ROWS: Final = "rows.parquet"
MEASURED: Final = ".measured"
"""What the names of files begin with that only an unfinished evaluation needs."""
MOST_SCORES: Final = 20
"""Classes whose scores are kept for each sample: all where there are no more, else those of the largest scores."""
OF_ALL_SCORES: Final = ("auroc", "average_precision")
"""Metrics of a class that take its score of every sample."""
ONLY_LARGEST: Final = (
    f"of more than {MOST_SCORES} classes only the {MOST_SCORES} largest scores of each sample are kept"
)

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")]
PARTS: Final = ("validation", "test", "train")


class RecordForm(BaseModel):
    """What is written, and never changed."""

    model_config = ConfigDict(frozen=True, extra="ignore", ser_json_inf_nan="constants")


class ColumnForm(RecordForm):
    """The array in ``NAME.npy``, a row for each sample: ``shape`` is one row's, () for a single number."""

    dtype: Literal["int64", "int32", "uint8", "float32", "float16"]
    shape: tuple[Annotated[int, Field(ge=1, le=1 << 28)], ...] = ()

    @property
    def row_bytes(self) -> int:
        """Of one sample."""
        size = {"int64": 8, "int32": 4, "float32": 4, "float16": 2, "uint8": 1}[self.dtype]
        return size * math.prod(self.shape)


class Baseline(RecordForm):
    """What the same metric is without having learned anything from the inputs (``name``: "majority class", "mean" ...), or with
    the simplest model of them."""

    name: str
    value: float


class Measured(RecordForm):
    """A metric over all samples: None where it is not defined. ``low`` to ``high`` is its interval at ``level``, None where none is
    computed."""

    value: float | None
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    baseline: Baseline | None = None
    """Of what looks at no input."""
    linear: Baseline | None = None
    """Of a logistic or linear regression on a table's columns."""
    lacks: tuple[str, ...] = ()
    """What of this is missing, each with the reason: "no baseline: it is calibrated by itself"."""

    @classmethod
    def of(cls, value: float) -> Self:
        """Without an interval."""
        return cls(value=keep_finite(value))


def keep_finite(number: float) -> float | None:
    """``number`` as JSON can hold it: None of what is infinite or no number."""
    return number if math.isfinite(number) else None


class EvaluationRecord(RecordForm):
    """``step`` is where the weights stood; ``checkpoint`` their folder's name and ``manifest_sha256`` the digest of its manifest, both
    "" for what a run kept of its own validation. ``on`` is a part of the run's data, or the path of other data. ``metrics`` is
    empty until all samples are done. ``properties`` are the columns of the array of that name."""

    format: Literal[1] = 1
    run: str
    checkpoint: str
    step: Count
    epoch: Count
    manifest_sha256: str
    on: str
    fingerprint: str
    layout: Layout
    target: Target
    task: str
    names: tuple[str, ...]
    target_classes: tuple[tuple[str, ...], ...] = ()
    """Of "tasks": the classes of each name, none of one that is a value."""
    samples: Annotated[int, Field(ge=1, le=1 << 40)]
    columns: dict[Name, ColumnForm]
    properties: tuple[str, ...] = ()
    done: Count = 0
    seed: int = 0
    threshold: Annotated[float, Field(gt=0.0, lt=1.0)] = 0.5
    """The probability from which on a label, or the second of two classes, is taken as told."""
    metrics: dict[str, Measured] = {}
    per_class: dict[str, tuple[tuple[float | None, float | None, float | None], ...]] = {}
    """By metric: value, low and high for each of ``names``."""
    notes: tuple[str, ...] = ()
    files: dict[str, FileFacts] = {}
    """Size and digest of each file, once all samples are done."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.done > self.samples:
            raise ValueError("more samples are done than there are")
        return self

    @property
    def complete(self) -> bool:
        """Whether every sample is there, and the metrics with them."""
        return self.done == self.samples and bool(self.files)

    @property
    def lacks_intervals(self) -> bool:
        """Whether a run kept it of its own validation, and nobody computed its intervals yet."""
        return not self.checkpoint and all(each.low is None for each in self.metrics.values())

    @property
    def has_losses(self) -> bool:
        """Whether a sample has a loss of its own: that of embeddings compares samples with each other."""
        return "loss" in self.columns and "embedding" not in self.columns

    @property
    def part(self) -> str:
        """ "validation", "test" or "train"; "" for data given as a path."""
        return self.on if self.on in PARTS else ""

    @property
    def bytes(self) -> int:
        """What the columns take on the disk."""
        return self.samples * sum(form.row_bytes for form in self.columns.values())


def evaluation_folder(run: RunFolder, step: int, key: str) -> Path:
    """Where the evaluation at ``step`` on ``key`` lies: a part's name, or eight hex digits of other data's digest."""
    return run.evaluations / f"step-{step:08d}-{key}"
