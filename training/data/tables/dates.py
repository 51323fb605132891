"""Columns of dates and times as features: how they are written, and what of them varies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from training.core.readers.cell_reading import MOMENT_PARTS
from training.core.readers.moment_reading import DAYS, date_moments, find_form, parse_moments
from training.errors import pluralize
from training.facts import DatePart
from training.system.untrusted import escape_unprintable

_SWAPPED = {"%m/%d/%Y": "%d/%m/%Y", "%m-%d-%Y": "%d-%m-%Y", "%m/%d/%y": "%d/%m/%y"}
_SWAPPED |= {other: form for form, other in _SWAPPED.items()}
LEAST_READ = 0.95
"""The share of cells that have to say a date: the others are missing then."""


@dataclass(frozen=True)
class DateColumn:
    """``form`` as ``strptime`` has it, "" for ISO 8601 and dates of a Parquet file; ``parts`` are those of ``MOMENT_PARTS`` that vary."""

    name: str
    form: str
    parts: tuple[DatePart, ...]
    notes: tuple[str, ...] = ()


def read_date_column(column: pl.Series, day_first: bool, taken: Sequence[str] = ()) -> DateColumn | None:
    """How to read a column of dates or times; None where fewer than 95 % of its cells say one. No part is called like one of the
    columns ``taken``."""
    form = find_form(column, clocks=True, day_first=day_first) if column.dtype == pl.String else ""
    if column.dtype == pl.Time:
        form = "%H:%M:%S"
    moments = date_moments(column, form)
    present = len(column) - column.null_count()
    if moments.count() < LEAST_READ * present or not present:
        return None
    parts = [part for part in MOMENT_PARTS if getattr(moments.dt, part)().n_unique() - bool(moments.null_count()) > 1]
    parts = [part for part in parts if f"{column.name}.{part}" not in taken]
    shown = escape_unprintable(column.name, 60)
    notes = [f"column '{shown}' becomes {_join(parts)}"] if parts else []
    place = find_two_ways(column, form, moments)
    if place is not None:
        says = escape_unprintable(str(column[place]), 60)
        notes.append(
            f"dates of column '{shown}' may be read both ways; '{says}' is taken for {moments[place]:%B} {moments[place].day}; "
            f"dataset.day_first {'= false' if day_first else '= true'} takes them the other way"
        )
    odd = (moments.is_null() & column.is_not_null()).arg_true()
    if len(odd):
        says = escape_unprintable(str(column[int(odd[0])]), 60)
        notes.append(
            f"{pluralize(len(odd), 'cell')} of column '{shown}' {'says' if len(odd) == 1 else 'say'} no date and "
            f"{'is' if len(odd) == 1 else 'are'} taken for missing, the first is '{says}' in row {int(odd[0]) + 1:,}"
        )
    return DateColumn(column.name, form, tuple(parts), tuple(notes))


def find_two_ways(column: pl.Series, form: str, moments: pl.Series) -> int | None:
    """The first row (from 0) whose month and day could be exchanged, if so they could in every row; None where one cannot."""
    other = read_other_way(column, form)
    if other is None or other.count() < moments.count():
        return None
    different = other.ne_missing(moments)
    return int(different.arg_true()[0]) if different.any() else None


def read_other_way(column: pl.Series, form: str) -> pl.Series | None:
    """The moments with month and day exchanged; None where the form leaves no doubt."""
    day = next((day for day in DAYS if form.startswith(day)), "")
    return parse_moments(column, form.replace(day, _SWAPPED[day])) if day in _SWAPPED else None


def _join(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
