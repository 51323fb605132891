"""What a table holds that the short script does not read, though the run does."""

from __future__ import annotations

import polars as pl

from training.config.sections.data.tables import TableSection
from training.data.tables.columns import find_roles
from training.data.tables.table_text import Written
from training.system.untrusted import escape_unprintable


def find_unread(frame: pl.DataFrame, dataset: TableSection, written: Written | None) -> str:
    """Why there is no short script of a run on this table, in a sentence; "" where there is one. Raises InputError for roles that the
    columns cannot play."""
    dates = [escape_unprintable(each.name, 60) for each in find_roles(frame, dataset).dates]
    if dates:
        return (
            f"dataset.features: column '{dates[0]}' holds dates or times, which the short script does not read; leave it out "
            "(dataset.ignored), or export --to script."
        )
    if written is not None and written.as_texts:
        return (
            f"dataset.path: the short script reads no numbers such as 1{written.thousands or '0'}234{written.decimal}5; export --to "
            "script instead."
        )
    return ""
