"""A table as the person sees it while choosing the roles of its columns."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from training.config.sections.data.images import ImageTableDataset
from training.config.sections.data.tables import MISSING_MARKS, RankingDataset, TableSection
from training.data.sample_page import find_start
from training.data.sources.image_table import find_image_roles
from training.data.sources.table import LOOKED_AT
from training.data.tables.columns import find_roles
from training.data.tables.row_filter import find_rows
from training.data.tables.table_file import UNNAMED, read_section, read_table, sort_of
from training.data.tables.unread import find_unread
from training.errors import InputError
from training.protocol.answers import ROWS, Column, SamplePage, TablePreview
from training.system.untrusted import escape_unprintable

_COLUMNS, _LETTERS = 500, 40
_SPLITTING = {"split_column": "split", "group_column": "group", "time_column": "time"}


def preview_table(dataset: TableSection | ImageTableDataset) -> TablePreview:
    """Columns in the file's order, and the first rows ("" where a value is missing). Tells of columns even where their roles are
    not yet right; raises InputError for what is no table."""
    if isinstance(dataset, ImageTableDataset):
        return _preview_image_table(dataset)
    frame, written = read_section(dataset, LOOKED_AT)
    roles, about = _roles(frame, dataset)
    unread = ""
    with suppress(InputError):  # of roles that are not yet right, which is said where the dataset is opened
        unread = find_unread(frame, dataset, written)
    return _make_preview(frame, roles, about).model_copy(update={"unread": unread})


def show_rows(table: TablePreview) -> SamplePage:
    """The first page of what ``read_rows`` reads."""
    return SamplePage(total=table.row_count, more=table.row_count == LOOKED_AT, rows=table.rows)


def read_rows(
    dataset: TableSection, offset: int, column: str = "", value: str = "", only: NDArray[np.int64] | None = None
) -> SamplePage:
    """A page of the rows that ``preview_table`` shows the first of, in the file's order; past the end the last one. Those whose cell in
    ``column`` is as ``value`` says, of the rows ``only``."""
    frame = read_section(dataset, LOOKED_AT)[0]
    found = find_rows(frame, column, value).to_numpy().astype(np.int64)
    if only is not None:
        found = np.intersect1d(found, only)
    start = find_start(offset, len(found), ROWS)
    here = found[start : start + ROWS]
    rows = _write_rows(frame.select(_find_shown(frame, _roles(frame, dataset)[0]))[here])
    more = frame.height == LOOKED_AT
    return SamplePage(offset=start, total=len(found), more=more, rows=rows, numbers=tuple(here.tolist()))


def _preview_image_table(dataset: ImageTableDataset) -> TablePreview:
    """The same of a table that tells of images; one column has the role "file"."""
    frame = read_table(Path(dataset.path), MISSING_MARKS, "auto", LOOKED_AT)
    roles = dict.fromkeys(frame.columns, "ignored")
    try:
        file_column, targets = find_image_roles(frame, dataset)
        roles |= dict.fromkeys(targets, "target") | {file_column: "file"}
    except InputError:  # said where the dataset is opened
        roles |= {name: "target" for name in dataset.targets if name in roles}
    roles |= {name: role for setting, role in _SPLITTING.items() if (name := getattr(dataset, setting, None))}
    return _make_preview(frame, roles, {})


def _make_preview(frame: pl.DataFrame, roles: dict[str, str], about: dict[str, str]) -> TablePreview:
    shown = _find_shown(frame, roles)
    return TablePreview(
        columns=tuple(_describe(frame.get_column(name), roles.get(name, ""), about.get(name, "")) for name in shown),
        column_count=frame.width,
        row_count=frame.height,
        rows=_write_rows(frame.select(shown).head(ROWS)),
    )


def _find_shown(frame: pl.DataFrame, roles: dict[str, str]) -> list[str]:
    some = set(sorted(frame.columns, key=lambda name: roles.get(name) != "target")[:_COLUMNS])
    return [name for name in frame.columns if name in some]


def _write_rows(frame: pl.DataFrame) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(map(_cell, row)) for row in frame.rows())


def _describe(column: pl.Series, role: str, about: str) -> Column:
    holds = sort_of(column)
    known = column.drop_nulls()
    low = high = frequent = ""
    if holds in ("int", "float"):
        known = known.drop_nans() if known.dtype.is_float() else known
        low, high = _cell(known.min()), _cell(known.max())
    elif holds == "date" and known.dtype != pl.String:
        low, high = _cell(known.min()), _cell(known.max())
    elif holds in ("string", "bool"):
        frequent = _find_frequent(known)
    return Column(
        name=column.name,
        holds=holds,
        missing=column.null_count(),
        distinct=None if holds == "other" else int(known.n_unique()),
        role=role,
        about=about,
        low=low,
        high=high,
        frequent=frequent,
    )


def _find_frequent(known: pl.Series) -> str:
    """The value that comes most often, with its share; "" where none comes twice."""
    counts = known.value_counts(sort=True, name="\0count").head(1)
    most = int(counts.item(0, 1)) if counts.height else 0
    return f"{_cell(counts.item(0, 0))} ({most / len(known):.0%})" if most > 1 else ""


def _roles(frame: pl.DataFrame, dataset: TableSection) -> tuple[dict[str, str], dict[str, str]]:
    """What each column is for, as far as it can be told, and what there is to say of that."""
    known = dict.fromkeys((*dataset.ignored, UNNAMED), "ignored")
    known |= {name: role for setting, role in _SPLITTING.items() if (name := getattr(dataset, setting, None))}
    if isinstance(dataset, RankingDataset):
        known[dataset.query_column] = "query"
    try:
        found = find_roles(frame, dataset)
    except InputError:
        return known | dict.fromkeys(dataset.targets, "target"), {}
    known |= dict.fromkeys(found.features, "feature") | dict.fromkeys(found.categorical, "categorical")
    known |= {each.name: "date" for each in found.dates} | dict.fromkeys(found.hashed, "hashed")
    known |= dict.fromkeys(found.left_out, "left out")
    about = {each.name: ", ".join(each.parts) for each in found.dates} | dict(found.left_out)
    about |= dict.fromkeys(found.hashed, f"{found.buckets} codes")
    return dict.fromkeys(frame.columns, "ignored") | known | dict.fromkeys(found.targets, "target"), about


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else escape_unprintable(str(value), _LETTERS)
