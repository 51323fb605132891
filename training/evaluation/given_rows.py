"""A table given to a network that was trained on another: its columns by name, read as ``predict`` reads them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import torch
from torch import Tensor

from training.answering.given import Sample
from training.answering.model import open_model
from training.answering.rows import open_table
from training.config.sections.data.dataset_section import DatasetSection
from training.config.sections.data.tables import TableDataset, TableSection
from training.data.given_section import refuse_given
from training.data.source import Source
from training.data.tables.columns import dense_codes, find_roles
from training.data.tables.table_file import read_new_table, read_section
from training.errors import InputError, list_first, pluralize
from training.facts import DataFacts, Layout
from training.runs.records.manifest import digest
from training.system.untrusted import escape_unprintable

_NAMED = 5


@dataclass(kw_only=True, eq=False)
class GivenRows(Source):
    """The rows whose targets are known: number ``rows[n]`` of the file."""

    layout: Layout = "vector"
    values: Tensor
    rows: Tensor

    def read(self, indices: Tensor) -> Tensor:
        """float32 (n, columns), NaN where a number is missing."""
        return self.values[indices]

    def name(self, index: int) -> str:
        return f"row {int(self.rows[index]) + 1:,}"


def open_rows(
    checkpoint: Path, dataset: DatasetSection, facts: DataFacts, path: Path
) -> tuple[GivenRows, tuple[str, ...]]:
    """Its samples, and what there is to say. Raises InputError for a column or a class that differs, by name."""
    if not isinstance(dataset, TableDataset):
        raise refuse_given(path, "is a table, but the run was not trained on one")
    frame = read_new_table(path, dataset, facts.table)
    names = find_targets(dataset, facts, frame, path)
    known = frame.select(pl.all_horizontal(pl.col(name).is_not_null() for name in names)).to_series()
    rows = torch.from_numpy(known.arg_true().to_numpy().astype(np.int64))
    if not len(rows):
        raise refuse_given(path, f"no row has a value in column '{names[0]}'")
    samples = list(open_table(open_model(checkpoint), path).read_all())
    wanted = [samples[row] for row in rows.tolist()]
    values = stack_values(wanted, path)
    targets = read_targets(frame.filter(known), names, facts, path)
    notes = list_notes((note, row + 1) for each, row in zip(wanted, rows.tolist(), strict=True) for note in each.notes)
    if len(rows) < frame.height:
        notes.append(f"{pluralize(frame.height - len(rows), 'row')} without a target left out.")
    return (
        GivenRows(
            target=facts.target,
            classes=facts.names,
            target_classes=facts.target_classes,
            shape=tuple(facts.shape),
            columns=facts.columns,
            categories=facts.categories,
            codes=facts.codes,
            table=facts.table,
            targets=targets,
            values=values,
            rows=rows,
            parts={"train": torch.arange(len(rows))},
            fingerprint=digest(path),
        ),
        tuple(notes),
    )


def find_targets(dataset: TableSection, facts: DataFacts, frame: pl.DataFrame, path: Path) -> tuple[str, ...]:
    """The columns that the run predicts. Where its settings do not name them, the run's own file tells."""
    names = facts.names if facts.target != "class" else tuple(dataset.targets)
    if not names:
        own = read_section(dataset, 1000)[0]
        names = find_roles(own, dataset).targets
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise refuse_column(frame, missing[0], "which the network predicts", path)
    return names


def refuse_column(frame: pl.DataFrame, name: str, what: str, path: Path) -> InputError:
    """The error that says that ``frame`` lacks a column, and ``what`` the column is there for, a clause."""
    has = list_first([escape_unprintable(each, 40) for each in frame.columns[:_NAMED]], frame.width)
    return refuse_given(path, f"has no column '{escape_unprintable(name, 60)}', {what}; it has {has}")


def stack_values(samples: Sequence[Sample], path: Path, between: str = ": ") -> Tensor:
    """float32 (n, *shape). Raises InputError for the first that could not be read: its name, ``between`` and why."""
    read = [each.values for each in samples if each.values is not None]
    if len(read) < len(samples):
        raise refuse_given(path, next(f"{each.name}{between}{each.refused}" for each in samples if each.values is None))
    return torch.from_numpy(np.stack(read).astype(np.float32))


def list_notes(notes: Iterable[tuple[str, int]]) -> list[str]:
    """The commonest of what was noted of rows, by their numbers: each with the first of those."""
    rows: dict[str, list[int]] = {}
    for note, row in notes:
        rows.setdefault(note, []).append(row)
    told = sorted(rows, key=lambda note: -len(rows[note]))[:_NAMED]
    more = len(rows) - len(told)
    said = [f"{note} ({_name_rows(rows[note])})." for note in told]
    return [*said, f"{pluralize(more, 'more remark')} of this kind, told by predict."] if more else said


def _name_rows(rows: Sequence[int]) -> str:
    named = list_first([f"{row:,}" for row in rows[:_NAMED]], len(rows))
    return f"row {named}" if len(rows) == 1 else f"{len(rows):,} rows: {named}"


def read_targets(frame: pl.DataFrame, names: tuple[str, ...], facts: DataFacts, path: Path) -> Tensor:
    """int64 (rows,) numbers of classes, or float32 (rows, names). Raises InputError for a cell that is none."""
    if facts.target == "class":
        return _number(frame.get_column(names[0]), facts.names, path)
    columns = []
    for name, classes in zip(names, facts.target_classes or ((),) * len(names), strict=True):
        column = frame.get_column(name)
        if classes:
            columns.append(_number(column, classes, path).float())
            continue
        numbers = column.cast(pl.Float64, strict=False)
        if numbers.null_count():
            odd = column.filter(numbers.is_null())[0]
            where, cell = escape_unprintable(name, 60), escape_unprintable(str(odd), 40)
            raise refuse_given(path, f"column '{where}' holds '{cell}', which is no number")
        columns.append(torch.from_numpy(numbers.to_numpy().astype(np.float32)))
    return torch.stack(columns, 1)


def _number(column: pl.Series, classes: tuple[str, ...], path: Path) -> Tensor:
    """int64: the place of each value among ``classes``, compared as texts, as the run's own are."""
    codes, texts = dense_codes(column)
    foreign = [text for text in texts if text not in frozenset(classes)]
    if foreign:
        has = ", ".join(escape_unprintable(name, 60) for name in classes[:_NAMED])
        said = ", ".join(f"'{escape_unprintable(name, 60)}'" for name in foreign[:_NAMED])
        where = escape_unprintable(column.name, 60)
        raise refuse_given(
            path, f"column '{where}' has the class {said}, which the network does not know: it knows {has}"
        )
    places = torch.tensor([classes.index(text) for text in texts], dtype=torch.int64)
    return places[codes.long() - 1]
