"""A run's samples and its parts, as everything that reads them without a run has them."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

from training.config.sections.data.dataset_section import DatasetSection
from training.data.exclude import leave_out
from training.data.source import Opening, Source
from training.data.sources import open_source
from training.data.splits import split_source


def open_fitted(
    dataset: DatasetSection, opening: Opening, excluded: Path | None = None
) -> tuple[Source, dict[str, Tensor]]:
    """The samples, fitted to those that train, and the numbers of those of each part, without the excluded ones; ``excluded`` is a
    run's own copy of the list. Raises InputError as ``prepare`` does."""
    source = open_source(dataset, opening)
    splits = leave_out(source, split_source(source, dataset), dataset, excluded)
    return source.fit(splits["train"]), splits
