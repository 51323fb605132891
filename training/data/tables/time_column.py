"""``dataset.time_column``: the moments of a table's rows."""

from __future__ import annotations

import polars as pl
from torch import Tensor

from training.core.readers.moment_reading import find_form, rank_moments, read_moments
from training.data.moments import Moments
from training.data.tables.dates import find_two_ways, read_other_way
from training.data.tables.table_file import sort_of
from training.errors import InputError
from training.system.untrusted import escape_unprintable

_ISO = "2024-05-31 or 2024-05-31 08:15"


def order_rows(column: pl.Series, rows: Tensor) -> Moments:
    """The moments of a table's rows, whose numbers in the file (from 0) are ``rows``. Raises InputError, naming row and value,
    for a row that says none."""
    shown = escape_unprintable(column.name, 60)
    if sort_of(column) in ("bool", "empty", "other"):
        raise InputError(
            f"dataset.time_column: column '{shown}' holds neither dates nor numbers; choose a column that says when each row is from."
        )
    moments = read_moments(column)
    if moments.null_count():
        place = int(moments.is_null().arg_true()[0])
        value = column[place]
        says = "is empty" if value is None else f"says '{escape_unprintable(str(value), 60)}', which is no date,"
        raise InputError(
            f"dataset.time_column: column '{shown}' {says} in row {int(rows[place]) + 1:,}; write dates as {_ISO}, or numbers."
        )
    if column.dtype == pl.String:
        _refuse_two_ways(column, moments, rows)
    return Moments(column.name, rank_moments(moments), moments.unique().sort().to_numpy())


def _refuse_two_ways(column: pl.Series, moments: pl.Series, rows: Tensor) -> None:
    """Raise InputError where month and day could be exchanged in every row: the order would be a guess."""
    form = find_form(column)
    place = find_two_ways(column, form, moments)
    other = read_other_way(column, form)
    if place is None or other is None:
        return
    raise InputError(
        f"dataset.time_column: '{escape_unprintable(str(column[place]), 60)}' in row {int(rows[place]) + 1:,} may be "
        f"{moments[place]:%B} {moments[place].day} or {other[place]:%B} {other[place].day}, and so in every row; write dates as {_ISO}."
    )
