"""The rows of a table beside what a network answered to them."""

from __future__ import annotations

import io
from pathlib import Path

from torch import Tensor

from training.config.sections.data.dataset_section import DatasetSection
from training.config.sections.data.tables import TableDataset
from training.data.source import Source


def read_rows(source: Source, dataset: DatasetSection, order: Tensor, path: Path | None = None) -> bytes | None:
    """The rows of the samples ``order`` (int64) as a Parquet file, as their own file has them: ``path``, or that of the run's own data.
    None for data that is no table."""
    if not isinstance(dataset, TableDataset):
        return None
    from training.data.sources.table import Table  # with polars, which others need not wait for
    from training.data.tables.table_file import read_new_table
    from training.evaluation.given_rows import GivenRows

    assert isinstance(source, Table | GivenRows)
    frame = read_new_table(path or Path(dataset.path), dataset, source.table)
    stream = io.BytesIO()
    frame[source.rows[order].numpy()].write_parquet(stream)
    return stream.getvalue()
