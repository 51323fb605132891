"""Tables as tensors: numbers with NaN where one is missing, categories as codes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
import torch
from torch import Tensor

from training.core.readers.cell_reading import hash_text


def clean_cells(frame: pl.DataFrame, marks: Sequence[str]) -> pl.DataFrame:
    """``frame``: texts without spaces around them, and nothing where one is empty or of ``marks``, or a number is NaN."""
    texts = pl.col(pl.String).str.strip_chars()
    return frame.with_columns(pl.when(~texts.is_in(["", *marks])).then(texts), pl.col(pl.Float64).fill_nan(None))


def plain_columns(frame: pl.DataFrame, marks: Sequence[str], thousands: str = "", decimal: str = ".") -> pl.DataFrame:
    """``frame`` itself, each column as ``plain_column`` makes it; ``marks`` stand for what is missing."""
    for place in range(frame.width):  # one by one: what is replaced is let go of
        frame.replace_column(place, plain_column(frame.to_series(place), marks, thousands, decimal))
    return frame


def plain_column(column: pl.Series, marks: Sequence[str], thousands: str = "", decimal: str = ".") -> pl.Series:
    """A column as Int64, Float64, Boolean, String or a date, its cells as ``clean_cells`` makes them; numbers where all texts
    are such, as Python writes them or else as 1.234,5 of ``thousands`` "." and ``decimal`` ","."""
    if isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        column = clean_cells(column.to_frame(), marks).to_series()
        numbers = read_numbers(column, thousands, decimal)
        if numbers.null_count() > column.null_count():
            numbers = column.cast(pl.Float64, strict=False)
        if numbers.null_count() > column.null_count() or column.null_count() == len(column):
            return column
        whole = numbers.cast(pl.Int64, strict=False)
        if whole.null_count() == numbers.null_count() and (whole == numbers).all():
            return whole
        column = numbers
    if column.dtype.is_integer():
        whole = column.cast(pl.Int64, strict=False)
        return whole if whole.null_count() == column.null_count() else column.cast(pl.Float64)
    if not column.dtype.is_numeric():
        return column
    column = column.cast(pl.Float64)
    missing = math.isnan(float(column.sum()))  # to look at each takes time
    return clean_cells(column.to_frame(), marks).to_series() if missing else column


def read_numbers(texts: pl.Series, thousands: str, decimal: str) -> pl.Series:
    """Float64 of texts such as 1.234,5 of ``thousands`` "." and ``decimal`` ","; null where it is no number."""
    if thousands:
        mark, point = re.escape(thousands), re.escape(decimal)
        grouped = texts.str.contains(rf"^[+-]?[0-9]{{1,3}}({mark}[0-9]{{3}})+({point}[0-9]*)?$")
        plain = texts.str.replace_all(thousands, "", literal=True)
        texts = plain.set(~grouped & texts.str.contains(thousands, literal=True), None)
    if decimal != ".":
        texts = texts.set(texts.str.contains(".", literal=True), None).str.replace(decimal, ".", literal=True)
    return texts.cast(pl.Float64, strict=False)


def hash_texts(frame: pl.DataFrame, buckets: Mapping[str, int]) -> pl.DataFrame:
    """``frame`` with codes in the columns ``buckets``, of 1 to so many: those of ``hash_text``, 0 where a text is missing."""
    for name, count in buckets.items():
        texts = frame[name].cast(pl.String)
        known = texts.drop_nulls().unique().to_list()
        codes = texts.replace_strict(
            known, [hash_text(text, count) for text in known], default=0, return_dtype=pl.Int64
        )
        frame = frame.with_columns(codes.alias(name))
    return frame


def encode_rows(frame: pl.DataFrame, features: Mapping[str, Sequence[str] | None]) -> Tensor:
    """float32 (rows, columns) of the columns ``features``: numbers, NaN where one is missing, or of a category whose known
    texts are given the place of each among them, from 1; 0 for any other, and for none."""
    columns = []
    for name, texts in features.items():
        column = frame[name]
        if texts is not None:
            column = column.cast(pl.String).replace_strict(texts, range(1, len(texts) + 1), default=0)
        columns.append(torch.tensor(column.cast(pl.Float32).to_numpy()))
    return torch.stack(columns, 1)


def encode_whole(frame: pl.DataFrame, features: Mapping[str, Sequence[str] | None]) -> Tensor:
    """``encode_rows`` with all texts of the table: unknown ones are told apart."""
    texts = {
        name: known if known is None else frame[name].cast(pl.String).unique().drop_nulls().to_list()
        for name, known in features.items()
    }
    return encode_rows(frame, texts)


def number_classes(column: pl.Series, classes: Sequence[str]) -> Tensor:
    """int64 (n,): the place of each value among the ``classes``. Raises ValueError for one that is none of them."""
    numbers = encode_rows(column.to_frame(), {column.name: classes})[:, 0].long() - 1
    if (numbers < 0).any():
        raise ValueError(f"it has a class that is none of {classes}")
    return numbers


def rank_column(column: pl.Series) -> Tensor:
    """int64 (n,): the place of each value among the sorted different ones, from 1; 0 where it is missing."""
    if column.dtype == pl.Boolean:
        column = column.cast(pl.Int8)
    return torch.from_numpy(column.rank("dense").fill_null(0).to_numpy().astype(np.int64))


def group_numbers(column: pl.Series) -> Tensor:
    """int64 (n,): equal values have equal numbers, a missing one has one of its own."""
    numbers = rank_column(column)
    alone = numbers == 0
    numbers[alone] = int(numbers.max()) + 1 + torch.arange(int(alone.sum()))
    return numbers


def append_gaps(rows: Tensor, marked: Sequence[int]) -> Tensor:
    """``rows``, float32 (n, columns), with a column more for each of the columns ``marked``: 1 where that is NaN, else 0."""
    return torch.cat([rows, rows[:, marked].isnan().float()], dim=1)


def rows_by_part(column: pl.Series, words: Mapping[str, str]) -> dict[str, Tensor]:
    """The int64 row numbers of each part; ``words`` says which part is meant by a word, lower case."""
    rows: dict[str, list[int]] = {}
    for row, word in enumerate(column.cast(pl.String).str.to_lowercase().to_list()):
        if word in words:
            rows.setdefault(words[word], []).append(row)
    return {part: torch.tensor(numbers) for part, numbers in rows.items()}
