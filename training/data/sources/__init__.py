"""The kinds of data, one file each. A new kind is a config class, a row of the catalog and its file."""

from __future__ import annotations

from training import catalog
from training.config.sections.data.dataset_section import DatasetSection
from training.data.source import Opening, Source


def open_source(dataset: DatasetSection, opening: Opening | None = None) -> Source:
    """Open what ``[dataset]`` describes. Raises InputError, in one sentence, when it cannot be used."""
    kind: str = dataset.kind  # type: ignore[attr-defined]  # every concrete section has one
    source: Source = catalog.resolve(catalog.entry("dataset", kind))(dataset, opening or Opening())
    return source
