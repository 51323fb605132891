"""Columns that put rows in an order of time: numbers, dates, and texts that say one."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import polars as pl
import torch
from torch import Tensor

DAYS = ("%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%m-%d-%Y", "%d-%m-%Y")
CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")


def parse_iso(text: str | None) -> datetime | None:
    """The moment of 2024-05, 2024-05-31, 2024-05-31 08:15 or 2024-05-31T08:15:30.5+02:00 in UTC, which is meant where no offset
    stands; None of other texts."""
    try:
        moment = datetime.fromisoformat(f"{text}-01" if text is not None and len(text) == 7 else text or "")
    except ValueError:
        return None
    return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)


def parse_moments(texts: pl.Series, form: str) -> pl.Series:
    """The moments that ``texts`` say in a form as ``strptime`` has it, "" for ISO 8601; null where it is none."""
    if form:
        return texts.str.to_datetime(form, strict=False, time_unit="us")
    return pl.Series(texts.name, [parse_iso(text) for text in texts.to_list()], dtype=pl.Datetime("us"))


def find_form(texts: pl.Series) -> str:
    """The form that reads most of the ``texts``: ISO 8601 first, then those of ``DAYS`` with each of ``CLOCKS``."""
    best, read = "", parse_moments(texts, "").count()
    for form in (day + clock for day in DAYS for clock in CLOCKS):
        if read == texts.count():
            break
        if (count := parse_moments(texts, form).count()) > read:
            best, read = form, count
    return best


def read_moments(column: pl.Series) -> pl.Series:
    """Numbers and dates as they are, texts as the moments that they say; null where one is missing or says none."""
    return parse_moments(column, find_form(column)) if column.dtype == pl.String else column


def rank_moments(column: pl.Series) -> Tensor:
    """int64 (n,): the place of each row's moment among the sorted different ones, from 1. Raises ValueError where one is
    missing or cannot be read."""
    moments = read_moments(column)
    if moments.null_count():
        raise ValueError(f"column {column.name!r} says no moment in some rows")
    return torch.from_numpy(moments.rank("dense").to_numpy().astype(np.int64))
