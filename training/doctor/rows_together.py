"""Rows of a table that belong together, by whom or what they are of or by when they were: whether both parts have them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from torch import Tensor

from training.config.sections.data.tables import TableDataset
from training.data import Data
from training.data.sources.table import Table
from training.data.tables.table_file import read_section
from training.doctor.skill import Answers, measure_skill
from training.events import Finding
from training.findings.split import (
    ALIKE_IN_GROUP,
    ALIKE_IN_TIME,
    GROUP,
    LEAST_GROUPS,
    LEAST_ROWS_OF_GROUP,
    MANY_TIMES,
    NEIGHBORS,
    TIMES_CHANCE,
)
from training.findings.tables import LEAK_ROWS
from training.statistics.ranks import rank_correlation
from training.system.untrusted import escape_unprintable

_NAMES_GROUP = re.compile(
    r"(^|[\W_])(patient|subject|person|user|customer|client|member|student|household|session|visit|group|speaker|author|donor|animal|"
    r"site|hospital|school|store|machine|device|sensor|batch|plate|scene|field|plot|family|owner|player)s?([\W_]|$)",
    re.IGNORECASE,
)
_MOST_UNUSED, _MOST_COMPARED = 20, 1_500
_NUMBERS_TIMES = re.compile(r"^(day|date|time|timestamp|week|month|year|t)s?$", re.IGNORECASE)


@dataclass(frozen=True)
class Column:
    """A column as the file has it: ``name`` is the one in the file, ``place`` the feature's own."""

    name: str
    place: str
    values: NDArray[np.float32]
    coded: bool


def group_findings(
    columns: list[Column], answers: list[Answers], source: Table, rows: Tensor, dataset: TableDataset
) -> Iterator[Finding]:
    """Columns that say to whom or what rows belong, features or not, where rows of one are trained on and held out."""
    if dataset.group_column or dataset.time_column or dataset.split_column:
        return
    for column, is_used in (
        *((each, True) for each in columns),
        *((each, False) for each in _read_unused(source, rows, dataset)),
    ):
        if column.name != column.place or len(column.values) < LEAK_ROWS:
            continue
        is_named = _NAMES_GROUP.search(column.name) is not None
        if is_used and not is_named:
            continue
        values = column.values[~np.isnan(column.values)]
        groups = len(np.unique(values))
        if groups < LEAST_GROUPS or len(values) < LEAST_ROWS_OF_GROUP * groups:
            continue
        skill = max((each.skill for each in measure_skill(column.values, True, answers)), default=0.0)
        if skill < ALIKE_IN_GROUP or not (is_named or _are_neighbors(column.values, columns)):
            continue
        name = escape_unprintable(column.name, 60)
        yield GROUP.find(
            "warning",
            f"Rows of one '{name}' are trained on and held out, and resemble each other: validation tells how well known ones are "
            "predicted, not new ones.",
            "Keep the rows of each together.",
            place=column.name,
            evidence={"column": column.name, "groups": groups, "rows": len(values), "skill": skill},
            fix=_take_role("group_column", column.name, dataset),
        )


def _read_unused(source: Table, rows: Tensor, dataset: TableDataset) -> Iterator[Column]:
    """Columns of the file that no model gets, and that are called after persons or things; equal cells have equal numbers."""
    used = {*source.columns, *dataset.targets}
    names = [name for name in read_section(dataset, 1)[0].columns if name not in used][:_MOST_UNUSED]
    if not names:
        return
    frame = read_section(dataset)[0]
    places = source.rows[rows].numpy()
    for name in names:
        cells = frame.get_column(name).cast(pl.String, strict=False).rank("dense")
        yield Column(name, name, cells.cast(pl.Float32).to_numpy()[places], True)


def _are_neighbors(groups: NDArray[np.float32], columns: list[Column]) -> bool:
    """Whether the row that is most like a row is mostly one of its group, whatever the column is called."""
    numbers = [column.values for column in columns if not column.coded]
    known = ~np.isnan(groups)
    if len(numbers) < 2 or not known.any():
        return False
    ids, which = np.unique(groups[known], return_inverse=True)
    some = which < max(LEAST_GROUPS, len(ids) * _MOST_COMPARED // max(int(known.sum()), 1))  # whole groups
    which = which[some][:_MOST_COMPARED]
    table = np.stack([values[known][some][:_MOST_COMPARED] for values in numbers], 1).astype(np.float64)
    table = np.where(np.isfinite(table), table, np.nanmedian(np.where(np.isfinite(table), table, np.nan), axis=0))
    table = (table - table.mean(0)) / (table.std(0) + 1e-12)
    squares = (table**2).sum(1)
    apart = squares[:, None] + squares[None] - 2.0 * table @ table.T
    np.fill_diagonal(apart, np.inf)
    same = float((which[apart.argmin(1)] == which).mean())
    sizes = np.bincount(which)
    chance = float((sizes * (sizes - 1)).sum() / max(len(which) * (len(which) - 1), 1))
    return same >= NEIGHBORS and same >= TIMES_CHANCE * chance


def _take_role(role: str, name: str, dataset: TableDataset) -> dict[str, str | list[str]]:
    """The setting by which a column has a role, and no other beside it."""
    fix: dict[str, str | list[str]] = {f"dataset.{role}": name}
    for others in ("ignored", "features"):
        if name in (names := getattr(dataset, others)):
            fix[f"dataset.{others}"] = [other for other in names if other != name]
    return fix


def time_findings(
    data: Data, source: Table, rows: Tensor, columns: list[Column], answers: list[Answers], dataset: TableDataset
) -> list[Finding]:
    """Where rows have a date, or are numbered by time, and are held out at random: a warning, if rows that follow each other have like
    targets."""
    if dataset.group_column or dataset.time_column or dataset.split_column:
        return []
    derived = data.facts.table.derived if data.facts.table is not None else ()
    dated = [each.column for each in derived if each is not None and each.part != "hash"]
    if dated:
        name, moments = dated[0], source.features.moments[dated[0]][rows].numpy()
    elif (numbered := next(filter(_numbers_times, columns), None)) is not None:
        name, moments = numbered.name, numbered.values
    else:
        return []
    order = np.argsort(moments, kind="stable")
    times, which = np.unique(moments[order], return_inverse=True)
    means = [
        np.bincount(which, each.values[order]) / np.bincount(which)
        for each in answers
        if each.classes <= 2 and len(times) >= LEAST_GROUPS
    ]
    alike = max((rank_correlation(each[:-1], each[1:]) for each in means), default=0.0)
    near = len(rows) >= LEAK_ROWS and alike >= ALIKE_IN_TIME
    if not near and not dated:
        return []
    shown = escape_unprintable(name, 60)
    have = f"have a date ('{shown}')" if dated else f"follow each other by '{shown}'"
    title = f"Rows {have}, and are held out at random: validation knows rows from after those it predicts."
    if near:
        title = f"{title[:-1]}. Rows that follow each other have like targets (rank correlation {alike:.2f})."
    return [
        GROUP.find(
            "warning" if near else "info",
            title,
            "If the model is to predict later rows, hold out the newest.",
            place=name,
            evidence={"alike": alike},
            fix=_take_role("time_column", name, dataset),
        )
    ]


def _numbers_times(column: Column) -> bool:
    """Whether it is called after a time, and holds whole numbers of which there are many: more than days of a month or weeks of a year, which come
    again."""
    values = column.values
    if column.coded or not _NUMBERS_TIMES.match(column.name) or not np.isfinite(values).all():
        return False
    return len(np.unique(values)) >= MANY_TIMES and bool((values == np.round(values)).all())
