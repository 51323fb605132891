"""``table``: the rows of a CSV or Parquet file."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import polars as pl
import polars.selectors as cs
import torch
from torch import Tensor

from training.config.sections.data.tables import TableDataset, TableSection
from training.core.readers.table_reading import group_numbers
from training.data.class_choice import choose_classes, require_class_target
from training.data.source import Opening, Source
from training.data.tables.columns import (
    dense_codes,
    find_roles,
    number_rows,
    read_parts,
    require_numbers,
    target_kind,
)
from training.data.tables.features import Features, derive, encode
from training.data.tables.table_file import read_section
from training.data.tables.table_text import Written
from training.data.tables.targets import require_trained_classes
from training.data.tables.tasks import read_tasks, require_trained_tasks
from training.data.tables.time_column import order_rows
from training.errors import InputError, pluralize
from training.facts import Layout, TableForm, Target
from training.system.untrusted import escape_unprintable

LOOKED_AT = 200_000
"""Rows that a preview reads."""


@dataclass(kw_only=True, eq=False)
class Table(Source):
    """One sample for each row whose target is known: number ``rows[n]`` of the file. Categories have the codes of the rows that
    train."""

    layout: Layout = "vector"
    features: Features
    written: Written | None = None
    rows: Tensor

    def __post_init__(self) -> None:
        self._set_features(self.features)

    def _set_features(self, features: Features) -> None:
        self.features = features
        self.columns, self.categories, self.codes = features.columns, features.categories, features.codes
        self.ranges = features.column_ranges
        self.shape = (*self.rows.shape[1:], len(self.columns))
        written = self.written or Written("")
        if features.table_derived or (written.thousands, written.decimal) != ("", "."):
            self.table = TableForm(features.table_derived, written.thousands, written.decimal)

    def fit(self, train: Tensor) -> Self:
        if self.target == "class":
            require_trained_classes(self.classes, self.targets, train)
        if self.target == "tasks":
            require_trained_tasks(self, train)
        self._set_features(self.features.fit(train))
        return self

    def read(self, indices: Tensor) -> Tensor:
        """float32 (n, columns), NaN where a number is missing."""
        return self.features.read(indices)

    def in_file(self, indices: Tensor) -> Tensor:
        return self.features.in_file(indices)

    def tell_whole(self, indices: Tensor) -> list[bytes]:
        """The cells of each row by their columns, all that the file has: other columns may be looked at in another run."""
        frame = read_section(self.features.dataset)[0]
        numbers = (cs.numeric() | cs.boolean()).cast(pl.Float64)  # 3 is 3.0 where a column gets other cells
        cells = frame.with_columns(numbers, (~(cs.numeric() | cs.boolean() | cs.nested())).cast(pl.String))
        told = cells.select(pl.struct(pl.all()).struct.json_encode()).to_series()
        rows = self.find_rows(indices)
        return ["".join(told[row] for row in each if row >= 0).encode() for each in rows.tolist()]

    def find_rows(self, indices: Tensor) -> Tensor:
        """Numbers of the rows in the file, int64 (n, rows of a sample), negative where there is none."""
        return self.rows[indices][:, None]

    def name(self, index: int) -> str:
        return f"row {int(self.rows[index]) + 1:,}"


def open_table(dataset: TableDataset, opening: Opening) -> Table:
    frame, written, fingerprint, notes = load(dataset, opening)
    roles = find_roles(frame, dataset)
    several = dataset.task == "tasks"
    target: Target = "tasks" if several else target_kind(frame, roles.targets, dataset.task)
    frame, rows, more = without_gaps(frame, roles.targets)
    names, targets, classes = _targets(frame, roles.targets, target, dataset.numeric_targets)
    parts = read_parts(frame.get_column(dataset.split_column)) if dataset.split_column else {}
    parts = parts or {"train": torch.arange(len(rows))}
    require_class_target(dataset, target)
    choice = choose_classes(dataset, names, targets, parts) if target == "class" else None
    if choice is not None:
        frame, rows = frame[choice.samples.numpy()], rows[choice.samples]
        names, targets, parts, fingerprint = choice.names, choice.targets, choice.parts, choice.digest(fingerprint)
        more.append(choice.note)
    groups = group_numbers(frame.get_column(dataset.group_column)) if dataset.group_column else None
    moments = order_rows(frame.get_column(dataset.time_column), rows) if dataset.time_column else None
    columns = derive(frame, roles)
    del frame
    return Table(
        features=encode(columns, roles.categorical, dataset, rows),
        written=written,
        target=target,
        classes=names,
        target_classes=classes,
        targets=targets,
        rows=rows,
        parts=parts,
        class_choices=choice.choices if choice is not None else (),
        groups=groups,
        moments=moments,
        notes=(*notes, *roles.notes, *more),
        fingerprint=fingerprint,
    )


def load(dataset: TableSection, opening: Opening) -> tuple[pl.DataFrame, Written | None, str, list[str]]:
    """The file's table, how it is written (None: Parquet), the fingerprint of its content, and what there is to say."""
    path = Path(dataset.path)
    opening.report_progress(f"reading {path.name}", None)
    rows = None if opening.check else LOOKED_AT
    frame, written = read_section(dataset, rows)
    notes = written.describe() if written is not None else []
    notes += [f"only the first {LOOKED_AT:,} rows are looked at here"] * (frame.height == rows)
    if not opening.check:
        return frame, written, "", notes
    with path.open("rb") as file:
        return frame, written, hashlib.file_digest(file, "sha256").hexdigest(), notes


def without_gaps(frame: pl.DataFrame, targets: tuple[str, ...]) -> tuple[pl.DataFrame, Tensor, list[str]]:
    """The rows whose target is known, their numbers in the file (int64, from 0), and what there is to say."""
    known = frame.select(pl.all_horizontal(pl.col(name).is_not_null() for name in targets)).to_series()
    rows = torch.from_numpy(known.arg_true().to_numpy().astype(np.int64))
    if len(rows) == frame.height:
        return frame, rows, []
    if not len(rows):
        raise InputError(
            f"dataset.targets: no row has a value in column '{escape_unprintable(targets[0], 60)}'; choose another."
        )
    first = int(known.arg_min() or 0) + 1
    gaps = f"{pluralize(frame.height - len(rows), 'row')} without a target skipped, the first is row {first:,}"
    return frame.filter(known), rows, [gaps]


def _targets(
    frame: pl.DataFrame, names: tuple[str, ...], target: Target, numeric: tuple[str, ...]
) -> tuple[tuple[str, ...], Tensor, tuple[tuple[str, ...], ...]]:
    """Names of what is predicted, the targets as ``facts.Target`` says, and the classes of each of several tasks."""
    if target == "class":
        codes, known = dense_codes(frame.get_column(names[0]))
        return known, codes - 1, ()
    if target == "tasks":
        classes, targets = read_tasks(frame, names, numeric)
        return names, targets, classes
    require_numbers(frame, names)
    return names, number_rows(frame, names), ()
