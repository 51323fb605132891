"""What there is to say of a table's columns: one that alone predicts the target, and one that names the rows."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from training.config.sections.data.tables import TableDataset
from training.core.splits import pick_evenly
from training.data import Data
from training.data.sources.table import Table
from training.doctor.rows_together import Column, group_findings, time_findings
from training.doctor.skill import Answers, ColumnSkill, answers_of, is_copy, measure_skill
from training.events import Finding
from training.findings.tables import (
    DENSE,
    DISTINCT,
    FAR_BEHIND,
    IDENTIFIER,
    LEAK_ROWS,
    LEAKS,
    LEAKS_ALONE,
    MONOTONE,
    REPEATS,
    RIVAL,
    TARGET_LEAK,
)
from training.statistics.ranks import rank_correlation
from training.system.untrusted import escape_unprintable

_MOST_CELLS = 2_000_000
_MOST_ROWS, _LEAST_ROWS = 20_000, 1_000
_ALL_ROWS = 200_000
_NAMES_ROWS = re.compile(r"(^|[\W_])(?i:id|idx|index|uuid|guid|key|no|nr|num|number|row)([\W_]|$)|[a-z](ID|Id)$")
_TELLS_TIME = re.compile(r"time|date|year|month|week|day|hour|minute|second|age|step|epoch|(^|_)t($|_)", re.IGNORECASE)


def table_findings(data: Data, dataset: object) -> list[Finding]:
    """Of the columns of a table; nothing of other data."""
    source = data.source
    if not isinstance(source, Table) or not isinstance(dataset, TableDataset) or source.shape[:-1]:
        return []
    train = data.splits["train"]
    features = source.in_file(train[:1]).shape[1]
    rows = pick_evenly(train, min(_MOST_ROWS, max(_LEAST_ROWS, _MOST_CELLS // max(1, features))))
    columns = _read_columns(data, source, rows)
    answers = answers_of(source, rows)
    found = list(group_findings(columns, answers, source, rows, dataset))
    for more in (_leaks(columns, answers, dataset) if len(rows) >= LEAK_ROWS else [], _identifiers(source, dataset)):
        said = {finding.evidence["column"] for finding in found}  # the first explains the others
        found += [finding for finding in more if finding.evidence["column"] not in said]
    return [*found, *time_findings(data, source, rows, columns, answers, dataset)]


def _read_columns(data: Data, source: Table, rows: Tensor) -> list[Column]:
    cells: NDArray[np.float32] = source.in_file(rows).numpy()
    facts = data.facts
    columns = []
    for place in range(cells.shape[1]):
        derived, name = facts.derivation(place), source.columns[place]
        coded = bool(source.categories) and source.categories[place] > 0
        columns.append(Column(derived.column if derived is not None else name, name, cells[:, place], coded))
    return columns


def _leaks(columns: list[Column], answers: list[Answers], dataset: TableDataset) -> list[Finding]:
    if len(columns) < 2:
        return []  # one column is all that there is to predict from
    skills = [measure_skill(column.values, column.coded, answers) for column in columns]
    found = []
    for number, target in enumerate(answers):
        mine = [skill[number] for skill in skills]
        told: set[str] = set()  # of the parts of a date one is enough
        for place, column in enumerate(columns):
            if (
                column.name not in told
                and mine[place].skill >= _least(column, place, mine, target)
                and _tells(column, mine[place], target)
            ):
                told.add(column.name)
                repeats = _repeats(mine[place], target)
                easy = not repeats and _has_rival(place, columns, mine, target)
                found.append(_leak(column, mine[place], target, repeats, easy, dataset, len(answers) > 1))
    return found


def _least(column: Column, place: int, skills: list[ColumnSkill], target: Answers) -> float:
    """The skill from which on a column is told: less, where it has a value for each class of which one is sure, or no other column tells anything
    near."""
    if _repeats(skills[place], target) and _is_sure_one_way(column, target):
        return REPEATS
    others = max((skill.skill for other, skill in enumerate(skills) if other != place), default=0.0)
    return LEAKS_ALONE if others <= FAR_BEHIND else LEAKS


def _is_sure_one_way(column: Column, target: Answers) -> bool:
    """Whether rows of one of its values are all of one class, and most of that class: what is only there once the target is known is never there
    without it."""
    values: NDArray[np.float64] = target.values
    for value in np.unique(column.values[np.isfinite(column.values)]).tolist():
        classes, counts = np.unique(values[column.values == value], return_counts=True)
        if len(classes) == 1 and counts[0] >= max(LEAK_ROWS, REPEATS * float((values == classes[0]).sum())):
            return True
    return False


def _repeats(skill: ColumnSkill, target: Answers) -> bool:
    """Whether a column has no more values than there are classes: the target under other names."""
    return bool(target.classes) and skill.distinct <= target.classes


def _tells(column: Column, skill: ColumnSkill, target: Answers) -> bool:
    """Whether it is more than a curve: a number that rises or falls with the column."""
    if target.classes or column.coded:
        return True
    return abs(rank_correlation(column.values, target.values)) >= MONOTONE


def _has_rival(place: int, columns: list[Column], skills: list[ColumnSkill], target: Answers) -> bool:
    """Whether another column, no copy of it and no repetition of the target, does nearly as well."""
    return any(
        other != place
        and skills[other].skill >= RIVAL
        and not _repeats(skills[other], target)
        and columns[other].name != columns[place].name
        and not is_copy(columns[place].values, columns[other].values)
        for other in range(len(columns))
    )


def _leak(
    column: Column,
    skill: ColumnSkill,
    target: Answers,
    repeats: bool,
    easy: bool,
    dataset: TableDataset,
    several: bool,
) -> Finding:
    name = escape_unprintable(column.name, 60)
    called = target.name or next(iter(dataset.targets), "")
    what = f"the target '{escape_unprintable(called, 60)}'" if called else "the target"
    where = "all rows" if skill.right == 1.0 else f"{skill.right:.1%} of the rows"
    title = f"Column '{name}' alone predicts {what} almost exactly: the order of its values is the same."
    if target.classes:
        title = f"Column '{name}' alone predicts {what} in {where}."
    if repeats:
        title = f"Column '{name}' repeats {what} in {where}."
    advice = (
        "Other columns do nearly as well, so the task may simply be easy; if it is known only together with the target, leave it out."
        if easy
        else "Is it known before the target is? If not, the metrics look better than they are and the model is useless: leave it out."
    )
    return TARGET_LEAK.find(
        "info" if easy else "warning",
        title,
        advice,
        place=f"{column.name} -> {target.name}" if several else column.name,
        evidence={"column": column.name, "target": called, "skill": skill.skill, "rows": skill.rows},
        fix=without_column(column.name, dataset),
    )


def without_column(name: str, dataset: TableDataset) -> dict[str, list[str]]:
    """The settings that leave a column out."""
    if dataset.features:
        return {"dataset.features": [other for other in dataset.features if other != name]}
    return {"dataset.ignored": [*dataset.ignored, name]}


def _identifiers(source: Table, dataset: TableDataset) -> list[Finding]:
    """Columns of whole numbers that name the rows."""
    found = []
    cells: NDArray[np.float32] = source.features.values[:_ALL_ROWS].numpy()
    for place, name in enumerate(source.features.names):
        values = cells[:, place]
        if (
            source.features.texts[place]
            or source.features.derived[place] is not None
            or _TELLS_TIME.search(name)
            or name in dataset.keep_columns
            or len(values) < LEAK_ROWS
            or not np.isfinite(values).all()
            or (values != np.round(values)).any()
        ):
            continue
        distinct = len(np.unique(values))
        named = bool(_NAMES_ROWS.search(name))
        dense = float(values.max()) - float(values.min()) <= DENSE * len(values)
        if distinct < DISTINCT * len(values) or not (named or dense):
            continue
        steps = np.diff(values)
        in_order = bool((steps > 0).all() or (steps < 0).all())
        found.append(
            IDENTIFIER.find(
                "warning" if named or in_order else "info",
                f"Column '{escape_unprintable(name, 60)}' has another number in {distinct / len(values):.0%} of the rows: it names them, "
                "and tells nothing of new ones.",
                "Leave it out, or it is learned by heart.",
                place=name,
                evidence={"column": name, "distinct": distinct, "rows": len(values), "in_order": in_order},
                fix=without_column(name, dataset),
            )
        )
    return found
