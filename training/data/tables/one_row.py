"""One row of a table, as its file has it."""

from __future__ import annotations

from pathlib import Path

from training.config.sections.data.tables import TableSection
from training.data.source import Source
from training.data.sources.table import Table
from training.data.tables.table_file import read_new_table


def read_cells(dataset: TableSection, source: Source, number: int) -> dict[str, str]:
    """The cells of sample ``number`` by column, "" where one is missing; numbers written as in the file."""
    assert isinstance(source, Table), "of a table's section"
    frame = read_new_table(Path(dataset.path), dataset, source.table)
    decimal = source.table.decimal if source.table is not None else "."
    return {
        name: "" if value is None else str(value).replace(".", decimal) if isinstance(value, float) else str(value)
        for name, value in frame.row(int(source.rows[number]), named=True).items()
    }
