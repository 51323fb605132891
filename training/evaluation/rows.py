"""The rows of a table beside what a network answered to them."""

from __future__ import annotations

import io
from pathlib import Path

from torch import Tensor

from training.config.sections.data.dataset_section import DatasetSection
from training.config.sections.data.tables import TableDataset
from training.data.source import Source
from training.predictions.record import ROWS
from training.predictions.writing import EvaluationWriter


def write_rows(
    writer: EvaluationWriter, source: Source, dataset: DatasetSection, order: Tensor, path: Path | None
) -> None:
    """The rows of the samples ``order`` (int64), as their file has them: ``path``, or that of the run's own data. Nothing for data that is
    no table."""
    if not isinstance(dataset, TableDataset):
        return
    from training.data.sources.table import Table  # with polars, which others need not wait for
    from training.data.tables.table_file import read_new_table
    from training.evaluation.given_rows import GivenRows

    assert isinstance(source, Table | GivenRows)
    frame = read_new_table(path or Path(dataset.path), dataset, source.table)
    stream = io.BytesIO()
    frame[source.rows[order].numpy()].write_parquet(stream)
    writer.write_file(ROWS, stream.getvalue())
