"""What all scripts that read a table say about it: how it is written, and which of its rows belong to which part."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from training.data.columns import PARTS
from training.data.table_file import how_written
from training.export.written import Setting, code

if TYPE_CHECKING:
    import polars as pl


def table_facts(path: Path, separator: str) -> dict[str, Any]:
    """For the templates."""
    written = how_written(path, separator)
    between, decimal_comma = written or ("", False)
    return {"parquet": written is None, "separator": between, "decimal_comma": decimal_comma}


def table_settings(facts: dict[str, Any], marks: Sequence[str]) -> list[Setting]:
    """What is named in capitals of how it is written."""
    if facts["parquet"]:
        return []
    return [("", "MISSING", list(marks)), ("", "SEPARATOR", code(facts["separator"]))]


def part_words(frame: pl.DataFrame, column: str | None) -> dict[str, list[str]]:
    """What a column calls each part, lower case; nothing without a column."""
    import polars as pl

    if column is None:
        return {}
    words = frame.get_column(column).cast(pl.String).str.to_lowercase().drop_nulls().unique().sort().to_list()
    found: dict[str, list[str]] = {}
    for word in words:
        found.setdefault(PARTS[word], []).append(word)
    return found
