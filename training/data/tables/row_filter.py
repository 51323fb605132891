"""Which rows of a table have a cell as somebody asks for it: a number, a span of numbers, or a piece of text."""

from __future__ import annotations

import re
from collections.abc import Callable

import polars as pl

from training.errors import InputError
from training.system.untrusted import escape_unprintable

_SIGNS: dict[str, Callable[[pl.Expr, float], pl.Expr]] = {
    ">=": lambda cell, value: cell >= value,
    "<=": lambda cell, value: cell <= value,
    "!=": lambda cell, value: cell != value,
    ">": lambda cell, value: cell > value,
    "<": lambda cell, value: cell < value,
    "=": lambda cell, value: cell == value,
}
_SIGNED = re.compile(rf"({'|'.join(_SIGNS)})(.*)", re.DOTALL)
_SPAN = re.compile(r"(.+?)\.\.(.+)", re.DOTALL)
_MISSING = "missing"
_EXAMPLES = "Write a number, >= 5, 2..8, != 3, a piece of text, = text for the whole cell, or missing."


def find_rows(frame: pl.DataFrame, column: str, asked: str) -> pl.Series:
    """The numbers of the rows whose cell in ``column`` is as ``asked``: "5", ">= 5", "2..8" (both included), "!= 5", "= text" for the whole
    cell, a piece of text in any case, "missing". Raises InputError for a column that is not there, and for what a column of numbers has
    no answer to."""
    numbered = frame.with_row_index("\0row")
    if not asked.strip():
        return numbered.get_column("\0row")
    if column not in frame.columns:
        raise InputError(f"The table has no column {escape_unprintable(column, 60)!r}.", "Choose one that it has.")
    return numbered.filter(_condition(frame.get_column(column), asked.strip())).get_column("\0row")


def _condition(column: pl.Series, asked: str) -> pl.Expr:
    cell = pl.col(column.name)
    if asked.casefold() == _MISSING:
        return cell.is_null() | cell.is_nan() if column.dtype.is_float() else cell.is_null()
    signed, span = _SIGNED.fullmatch(asked), _SPAN.fullmatch(asked)
    if column.dtype.is_numeric():
        if span is not None:
            return cell.is_between(_number(span[1], column, asked), _number(span[2], column, asked))
        sign, value = (signed[1], signed[2]) if signed is not None else ("=", asked)
        return _SIGNS[sign](cell, _number(value, column, asked))
    text = cell.cast(pl.String)
    if signed is not None and signed[1] in ("=", "!="):
        same = text == signed[2].strip()
        return same if signed[1] == "=" else ~same
    return text.str.to_lowercase().str.contains(asked.casefold(), literal=True)


def _number(text: str, column: pl.Series, asked: str) -> float:
    try:
        return float(text.strip().replace(",", ""))
    except ValueError as error:
        name, shown = escape_unprintable(column.name, 60), escape_unprintable(asked, 60)
        raise InputError(f"{name} holds numbers, and '{shown}' asks for something else.", _EXAMPLES) from error
