"""Rows and queries of tables as the arrays a model takes; what a row lacks, and what training did not see, is told by its name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from training.answering.given import Given, Sample, refuse_file
from training.answering.model import UsableModel
from training.config.sections.data.tables import MISSING_MARKS, RankingDataset, TableSection
from training.data.images.folder import show_path
from training.data.tables.remarks import list_remarks
from training.data.tables.table_file import read_new_table, read_table
from training.errors import InputError
from training.export.usage.preprocess import read_rows
from training.system.untrusted import escape_unprintable

Row = Mapping[str, Any]


def open_table(model: UsableModel, path: Path, called: str = "") -> Given:
    """The rows of a CSV or Parquet file, or its queries; the file is read now, and not again. ``called``: in place of its path."""
    called = called or show_path(str(path))
    if path.is_dir():
        return refuse_file(called, "is a folder; give a CSV or Parquet file")
    section = model.config.dataset
    try:
        if isinstance(section, TableSection):
            frame = read_new_table(path, section, model.data.table)
        else:
            frame = read_table(path, MISSING_MARKS, "auto")
    except InputError as error:
        why = error.message.removeprefix("dataset.path: ").removeprefix(f"{escape_unprintable(str(path), 300)} ")
        return refuse_file(called, why.rstrip("."))
    names = [feature.name for feature in model.record.input.features]
    if not model.data.columns and not set(names) & set(frame.columns) and frame.width == len(names):
        frame.columns = names  # numbers without names are told by their places
    if model.record.input.layout == "list":
        return _list_queries(model, frame, path)

    def read(first: int, last: int) -> Iterator[Sample]:
        rows = frame.slice(first, max(last - first, 0)).iter_rows(named=True)
        for number, row in enumerate(rows, first + 1):
            yield read_row(model, row, f"{show_path(path.name)} row {number:,}")

    return Given(frame.height, read, int(frame.estimated_size()))


def read_row(model: UsableModel, row: Row, name: str) -> Sample:
    """A row that gives each column's value by its name, None where it is not known."""
    try:
        values = read_rows(model.facts, [row])[0]
    except KeyError as error:
        missing = str(error.args[0]).partition("; ")[0].removeprefix("a row has no ")
        return Sample(name, refused=f"has no column {missing}")
    except ValueError as error:
        return Sample(name, refused=f"its {str(error).partition('; ')[0]}")
    stats = model.record.input.normalisation
    if stats is not None and not stats.missing and np.isnan(values).any():
        features = model.record.input.features
        gap = escape_unprintable(features[int(np.isnan(values).argmax())].name, 60)
        return Sample(name, refused=f"has nothing in '{gap}', and this model takes no missing values")
    marks = model.record.input.cells.missing if model.record.input.cells is not None else ()
    notes = tuple(remark.text for remark in list_remarks([row], model.row_facts, marks))
    return Sample(name, values, notes=notes)


def _list_queries(model: UsableModel, frame: pl.DataFrame, path: Path) -> Given:
    """The rows of each query together; without a column of queries the whole file is one."""
    section = model.config.dataset
    column = section.query_column if isinstance(section, RankingDataset) else ""
    queries: dict[str, list[int]] = {}
    told = frame.get_column(column).to_list() if column in frame.columns else [path.name] * frame.height
    for number, query in enumerate(told):
        queries.setdefault(str(query), []).append(number)
    listed = list(queries.items())

    def read(first: int, last: int) -> Iterator[Sample]:
        for query, numbers in listed[first:last]:
            rows = frame[numbers].iter_rows(named=True)
            numbered = [(number + 1, row) for number, row in zip(numbers, rows, strict=True)]
            yield read_query(model, numbered, f"query {escape_unprintable(query, 100)}")

    return Given(len(listed), read, int(frame.estimated_size()))


def read_query(model: UsableModel, rows: Sequence[tuple[int, Row]], name: str) -> Sample:
    """The numbered items of a query, of which the model takes so many; places that none fills are as in training."""
    most = model.record.input.shape[0]
    read = [read_row(model, row, f"row {number:,}") for number, row in rows]
    refused = next((f"{sample.name}: {sample.refused}" for sample in read if sample.refused), "")
    if refused:
        return Sample(name, refused=refused)
    notes = tuple(f"{sample.name}: {note}" for sample in read for note in sample.notes)
    if len(read) > most:
        notes = (f"only its first {most} rows are ranked, as in training", *notes)
    kept = read[:most]
    coded = np.array(model.data.categories or (0,) * model.record.input.shape[1]) > 0
    nothing = np.where(coded, np.float32(0.0), np.float32("nan"))
    places = [sample.values for sample in kept if sample.values is not None] + [nothing] * (most - len(kept))
    values = np.stack(places).astype(np.float32)
    return Sample(name, values, notes=notes, items=tuple(sample.name for sample in kept))
