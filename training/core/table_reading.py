"""Tables as tensors: numbers with NaN where one is missing, categories as codes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import torch
from torch import Tensor


def read_csv_table(path: Path, separator: str, marks: Sequence[str], decimal_comma: bool = False) -> pl.DataFrame:
    """The columns of a CSV file, each as ``plain_column`` makes it; ``marks`` stand for what is missing."""
    frame = pl.read_csv(
        path, separator=separator, null_values=list(marks), infer_schema_length=None, decimal_comma=decimal_comma
    )
    frame.columns = [name.strip() for name in frame.columns]
    return pl.DataFrame([plain_column(column, marks) for column in frame])


def read_parquet_table(path: Path) -> pl.DataFrame:
    """The columns of a Parquet file, each as ``plain_column`` makes it."""
    return pl.DataFrame([plain_column(column, ()) for column in pl.read_parquet(path)])


def plain_column(column: pl.Series, marks: Sequence[str]) -> pl.Series:
    """A column as Int64, Float64, Boolean, String or a date; texts without spaces around them, numbers where all texts are
    such, and nothing where one is empty or of ``marks``, or a number is NaN."""
    if isinstance(column.dtype, pl.Categorical | pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        column = column.str.strip_chars()
        column = column.set(column.is_in(["", *marks]), None)
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
    return column.fill_nan(None) if math.isnan(float(column.sum())) else column  # to look for it takes time


def encode_rows(frame: pl.DataFrame, features: Mapping[str, Sequence[str] | None]) -> Tensor:
    """float32 (rows, columns) of the columns ``features``: numbers, or codes of a category whose known texts are given."""
    columns = []
    for name, texts in features.items():
        if texts is None:
            columns.append(number_column(frame[name]))
        else:
            columns.append(code_texts(frame[name].cast(pl.String).to_list(), texts).float())
    return torch.stack(columns, 1)


def number_column(column: pl.Series) -> Tensor:
    """float32 (n,): NaN where a number is missing."""
    return torch.from_numpy(np.array(column.cast(pl.Float32).to_numpy(), copy=True))


def code_texts(found: Iterable[str | None], texts: Sequence[str]) -> Tensor:
    """int64 (n,): the place of each text among ``texts``, from 1; 0 for any other, and for none."""
    codes: dict[str | None, int] = {text: code for code, text in enumerate(texts, 1)}
    return torch.tensor([codes.get(text, 0) for text in found])


def encode_whole(frame: pl.DataFrame, features: Mapping[str, Sequence[str] | None]) -> Tensor:
    """``encode_rows`` with all texts of the table: unknown ones are told apart."""
    texts = {
        name: known if known is None else frame[name].cast(pl.String).unique().drop_nulls().to_list()
        for name, known in features.items()
    }
    return encode_rows(frame, texts)


def number_classes(column: pl.Series, classes: Sequence[str]) -> Tensor:
    """int64 (n,): the place of each value among the ``classes``. Raises ValueError for one that is none of them."""
    numbers = code_texts(column.cast(pl.String).to_list(), classes) - 1
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


def stack_values(frame: pl.DataFrame, names: Sequence[str]) -> Tensor:
    """float32 (rows, names) of columns of numbers."""
    columns = [frame.get_column(name).cast(pl.Float64).to_numpy().astype(np.float32) for name in names]
    return torch.from_numpy(np.stack(columns, axis=1))


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
