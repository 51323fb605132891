"""``Features``: the columns a table's rows are predicted from, as numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar

import polars as pl
import torch
from torch import Tensor

from training.config.sections.data.tables import TableSection
from training.core.readers.moment_reading import add_moment_parts, date_moments
from training.core.readers.table_reading import append_gaps, encode_rows, hash_texts
from training.data.tables.columns import Roles, dense_codes
from training.data.tables.odd_cells import are_numbers, has_decimal_commas, refusal
from training.errors import InputError
from training.facts import Derivation

_T = TypeVar("_T")
_NEVER = -(1 << 63)
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True)
class Features:
    """Numbers as they are, NaN where one is missing; categories as codes, 0 where one is missing or was not trained on.

    ``values`` is float32 (rows, columns) with the codes of the whole file, ``texts`` says what each column's codes 1, 2, ...
    stand for (none: numbers), ``derived`` how one is computed that is no column of the file. ``fit`` finds the codes that training
    rows have: ``maps`` leads from the file's to those, ``ranges`` are those of their numbers; ``dropped`` are the parts of dates that are the same in all of them.
    ``marked`` are the columns whose gaps have a column of their own. ``rows``, int64 (rows,), are the numbers in the file, and
    ``moments``, int64 (rows,) by column, microseconds since 1970.
    """

    values: Tensor
    names: tuple[str, ...]
    texts: tuple[tuple[str, ...], ...]
    derived: tuple[Derivation | None, ...]
    dataset: TableSection
    rows: Tensor
    moments: Mapping[str, Tensor]
    decimal_comma: bool = False
    maps: tuple[Tensor, ...] = ()
    marked: tuple[int, ...] = ()
    dropped: frozenset[int] = frozenset()
    ranges: tuple[tuple[float, float] | None, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self._select(self.names), *(f"{self.names[column]} missing" for column in self.marked))

    @property
    def codes(self) -> tuple[tuple[str, ...], ...]:
        """For each of ``columns``: what its codes stand for."""
        return (*self._select(self._trained_texts), *(() for _ in self.marked))

    @property
    def _trained_texts(self) -> tuple[tuple[str, ...], ...]:
        if not self.maps:
            return self.texts
        return tuple(
            tuple(text for code, text in sorted(zip(to[1:].tolist(), texts, strict=True)) if code)
            for texts, to in zip(self.texts, self.maps, strict=True)
        )

    @property
    def categories(self) -> tuple[int, ...]:
        """As ``DataFacts.categories``."""
        known = [
            each.buckets + 1 if each is not None and each.part == "hash" else len(codes) + 1 if texts else 0
            for codes, texts, each in zip(self._trained_texts, self.texts, self.derived, strict=True)
        ]
        return (*self._select(known), *(0 for _ in self.marked)) if any(known) else ()

    @property
    def column_ranges(self) -> tuple[tuple[float, float] | None, ...]:
        """As ``DataFacts.ranges``."""
        return (*self._select(self.ranges), *(None for _ in self.marked)) if any(self.ranges) else ()

    @property
    def table_derived(self) -> tuple[Derivation | None, ...]:
        """For each of ``columns`` how it is computed; none where all are columns of the file."""
        if not any(self.derived):
            return ()
        return (*self._select(self.derived), *(self.derived[column] for column in self.marked))

    def _select(self, columns: Sequence[_T]) -> tuple[_T, ...]:
        return tuple(each for place, each in enumerate(columns) if place not in self.dropped)

    def fit(self, rows: Tensor) -> Features:
        """With the codes and the gaps of ``rows`` (int64) alone. Raises InputError for a column that holds numbers in these, and
        other text elsewhere: it would be no category but for rows that are held out."""
        maps, marked, dropped = [], [], set()
        derived = list(self.derived)
        for column, texts in enumerate(self.texts):
            values = self.values[rows, column]
            part = self.derived[column]
            if texts:
                present = torch.unique(values.long())
                present = self._in_order(column, present[present > 0])
                trained = [texts[code - 1] for code in present.tolist()]
                in_file = pl.DataFrame({"text": [None, *texts]}, {"text": pl.String})
                maps.append(encode_rows(in_file, {"text": trained})[:, 0])
                continue
            maps.append(torch.zeros(1))
            if part is not None and part.part != "hash":
                if len(torch.unique(values[~values.isnan()])) < 2:
                    dropped.add(column)
                    continue
                derived[column] = _with_range(part, self.moments[part.column][rows])
            if self.dataset.missing_indicator and bool(values.isnan().any()):
                marked.append(column)
        if len(dropped) == len(self.names):
            raise InputError("dataset.features: all dates are the same in the training rows; choose other columns.")
        return replace(
            self,
            maps=tuple(maps),
            marked=tuple(marked),
            dropped=frozenset(dropped),
            derived=tuple(derived),
            ranges=tuple(self._find_range(column, rows) for column in range(len(self.texts))),
        )

    def _find_range(self, column: int, rows: Tensor) -> tuple[float, float] | None:
        """The least and the largest number of ``rows``; None of a column that is none of the file's, or holds no numbers there."""
        if self.texts[column] or self.derived[column] is not None:
            return None
        values = self.values[rows, column]
        known = values[~values.isnan()]
        return (float(known.min()), float(known.max())) if len(known) else None

    def _in_order(self, column: int, present: Tensor) -> Tensor:
        """The codes ``present`` of the training rows in their order: by number, if the column were one of numbers without what
        other rows hold."""
        name, texts = self.names[column], self.texts[column]
        known = pl.Series([texts[code - 1] for code in present.tolist()], dtype=pl.String)
        if len(known) in (0, len(texts)):
            return present
        if not bool(are_numbers(known, self.decimal_comma).all()):
            return present
        numbers = are_numbers(pl.Series(texts, dtype=pl.String), self.decimal_comma).to_list()
        odd = [code for code, is_number in enumerate(numbers, 1) if not is_number]
        if not odd:
            return present
        if name in self.dataset.categorical and all(map(_is_whole, known.to_list())):
            return torch.tensor(sorted(present.tolist(), key=lambda code: int(texts[code - 1])))
        first = int(torch.isin(self.values[:, column].long(), torch.tensor(odd)).nonzero()[0])
        text = texts[int(self.values[first, column]) - 1]
        where = f"in row {int(self.rows[first]) + 1:,}, which is not trained on"
        raise refusal(where, text, [name], [texts[code - 1] for code in odd], self.dataset)

    def in_file(self, rows: Tensor) -> Tensor:
        """As ``read``, with the codes of the whole file: categories that no training row has are told apart."""
        return self._without_dropped(self.values[rows])

    def read(self, rows: Tensor) -> Tensor:
        """float32 (n, columns) of the int64 (n,) ``rows``."""
        values = self.values[rows]
        for column, texts in enumerate(self.texts):
            if texts and self.maps:
                values[:, column] = self.maps[column][values[:, column].long()]
        return self._without_dropped(append_gaps(values, self.marked) if self.marked else values)

    def _without_dropped(self, values: Tensor) -> Tensor:
        if not self.dropped:
            return values
        return values[:, [place for place in range(values.shape[1]) if place not in self.dropped]]


class Columns(NamedTuple):
    """The features ``derived``, with how each is computed, among the columns ``series``; and ``moments`` as of ``Features``. A dict,
    because to take a column out of a DataFrame moves all the others."""

    series: dict[str, pl.Series]
    derived: dict[str, Derivation | None]
    moments: dict[str, Tensor]


def derive(frame: pl.DataFrame, roles: Roles) -> Columns:
    """The features that ``roles`` finds in ``frame``, the parts of dates and the hashes of texts among them."""
    dates = {each.name: each for each in roles.dates}
    frame = add_moment_parts(frame, {name: (each.form, each.parts) for name, each in dates.items()})
    frame = hash_texts(frame, dict.fromkeys(roles.hashed, roles.buckets))
    moments = {name: _count_time(frame.get_column(name), each.form) for name, each in dates.items()}
    derived: dict[str, Derivation | None] = {}
    for name in roles.features:
        if name in dates:
            for part in dates[name].parts:
                derived[f"{name}.{part}"] = Derivation(name, part, dates[name].form)
        else:
            derived[name] = Derivation(name, "hash", buckets=roles.buckets) if name in roles.hashed else None
    return Columns(dict(zip(frame.columns, frame.get_columns(), strict=True)), derived, moments)


def encode(columns: Columns, categorical: Sequence[str], dataset: TableSection, rows: Tensor) -> Features:
    """``columns``, which has them no more afterwards: a large table is not held twice. ``rows`` are their numbers in the file."""
    names = tuple(columns.derived)
    values = torch.empty(len(rows), len(names))
    texts: list[tuple[str, ...]] = []
    coded = frozenset(categorical)
    for place, name in enumerate(names):
        column = columns.series.pop(name)
        if name in coded:
            codes, known = dense_codes(column)
            values[:, place] = codes
            texts.append(known)
        else:
            values[:, place] = encode_rows(column.to_frame(), {name: None})[:, 0]
            texts.append(())
    return Features(
        values,
        names,
        tuple(texts),
        tuple(columns.derived.values()),
        dataset,
        rows,
        columns.moments,
        bool(coded) and has_decimal_commas(dataset),
    )


def _count_time(column: pl.Series, form: str) -> Tensor:
    """int64 (rows,) microseconds since 1970, the least number of all where nothing is known."""
    return torch.from_numpy(date_moments(column, form).cast(pl.Int64).fill_null(_NEVER).to_numpy().copy())


def _with_range(part: Derivation, moments: Tensor) -> Derivation:
    """``part`` with the first and the last of ``moments``."""
    known = moments[moments != _NEVER]
    if part.form and "%d" not in part.form:
        return part
    low, high = (_EPOCH + timedelta(microseconds=int(end)) for end in (known.min(), known.max()))
    return replace(part, low=low.isoformat(), high=high.isoformat())


def _is_whole(text: str) -> bool:
    """Whether it is a whole number as ``str`` writes it: else two texts could be one number."""
    return text.removeprefix("-").isdecimal() and text == str(int(text))
