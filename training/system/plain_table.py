"""Tables of numbers for other programs: CSV and Parquet, both exact."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from training.system.atomic import write_stream, write_text

Cell = int | float | str | None
Table = Mapping[str, Sequence[Cell]]
"""Columns of one length by their names; None is an empty cell."""


def format_csv(rows: Iterable[Sequence[Cell]], separator: str = ",") -> str:
    """Floats are written as Python does: the shortest text that is read back as the same number."""
    text = io.StringIO()
    csv.writer(text, delimiter=separator, lineterminator="\n").writerows(rows)
    return text.getvalue()


def table_rows(table: Table) -> Iterable[Sequence[Cell]]:
    """The rows below the head."""
    return zip(*table.values(), strict=True)


def save_table(path: Path, tables: Iterable[Table]) -> None:
    """Write ``tables``, which have the same columns and follow each other, as one file, whole or not at all: Parquet where ``path``
    says so, else CSV. Raises OSError."""
    if path.suffix.lower() == ".parquet":
        _save_parquet(path, tables)
        return
    parts: list[str] = []
    for table in tables:
        head = [] if parts else [tuple(table)]
        parts.append(format_csv([*head, *table_rows(table)]))
    write_text(path, "".join(parts))


def _save_parquet(path: Path, tables: Iterable[Table]) -> None:
    import polars as pl  # which takes longer to load than most tables take to be written

    # One column holds what it held in every part: whole numbers, else 64-bit floats, as CSV is read back.
    frames = [pl.DataFrame(dict(table), strict=False) for table in tables]
    whole = pl.concat(frames, how="vertical_relaxed")
    empty = [name for name, kind in whole.schema.items() if kind == pl.Null]
    frame = whole.with_columns(pl.col(empty).cast(pl.Float64)) if empty else whole
    write_stream(path, frame.write_parquet)
