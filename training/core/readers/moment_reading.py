"""Columns that put rows in an order of time: numbers, dates, and texts that say one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
import torch
from torch import Tensor

from training.core.readers.cell_reading import parse_iso

DAYS = (
    *("%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%m-%d-%Y", "%d-%m-%Y"),
    *("%Y.%m.%d", "%d.%m.%y", "%m/%d/%y", "%d/%m/%y"),
    *("%d %B %Y", "%d. %B %Y", "%d-%B-%Y", "%B %d, %Y", "%B %d %Y", "%d %B %y", "%d-%B-%y"),
)
CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
_SAMPLE = 1000
_FIRST_YEAR = 1000
"""Two digits are no year of four."""


def parse_moments(texts: pl.Series, form: str) -> pl.Series:
    """The moments that ``texts`` say in a form as ``strptime`` has it, "" for ISO 8601; null where it is none. A time of day is one of
    January 1, 1900."""
    if not form:
        return pl.Series(texts.name, [parse_iso(text) for text in texts.to_list()], dtype=pl.Datetime("us"))
    if "%d" not in form:
        texts, form = "1900-01-01 " + texts, f"%Y-%m-%d {form}"
    moments = texts.str.to_datetime(form, strict=False, time_unit="us")
    return moments.set(moments.dt.year() < _FIRST_YEAR, None) if "%Y" in form else moments


def find_form(texts: pl.Series, clocks: bool = False, day_first: bool = False) -> str:
    """The form that reads most of the ``texts``: ISO 8601 first, then those of ``DAYS`` with each of ``CLOCKS``, and with ``clocks``
    times of day. Of two that read as many it is the one with the day first where ``day_first`` says so."""
    days = sorted(DAYS, key=lambda day: day.startswith("%m")) if day_first else DAYS
    forms = [day + clock for day in days for clock in CLOCKS] + [clock.strip() for clock in CLOCKS[1:] if clocks]
    some = texts.drop_nulls().head(_SAMPLE)
    best, read = "", 0
    for form in ("", *forms):
        if read and read == texts.count():
            break
        if parse_moments(some, form).count() and (count := parse_moments(texts, form).count()) > read:
            best, read = form, count
    return best


def read_moments(column: pl.Series) -> pl.Series:
    """Numbers and dates as they are, texts as the moments that they say; null where one is missing or says none."""
    return parse_moments(column, find_form(column)) if column.dtype == pl.String else column


def date_moments(column: pl.Series, form: str) -> pl.Series:
    """Datetime in microseconds, of UTC where a time zone is known, of texts in a ``form``, dates and times; null where it is none."""
    if column.dtype == pl.String:
        return parse_moments(column, form)
    if column.dtype == pl.Time:
        return (column.cast(pl.Int64) // 1000).cast(pl.Datetime("us"))  # of January 1, 1970
    zone = getattr(column.dtype, "time_zone", None)
    return (column.dt.convert_time_zone("UTC").dt.replace_time_zone(None) if zone else column).cast(pl.Datetime("us"))


def add_moment_parts(frame: pl.DataFrame, moments: Mapping[str, tuple[str, Sequence[str]]]) -> pl.DataFrame:
    """``frame`` with a column "name.part" for each of the parts (year, month, weekday, hour) of each column, which is
    written in a form."""
    for name, (form, parts) in moments.items():
        column = date_moments(frame[name], form)
        frame = frame.with_columns(getattr(column.dt, part)().alias(f"{name}.{part}") for part in parts)
    return frame


def rank_moments(column: pl.Series) -> Tensor:
    """int64 (n,): the place of each row's moment among the sorted different ones, from 1. Raises ValueError where one is
    missing or cannot be read."""
    moments = read_moments(column)
    if moments.null_count():
        raise ValueError(f"column {column.name!r} says no moment in some rows")
    return torch.from_numpy(moments.rank("dense").to_numpy().astype(np.int64))
