"""The kinds of data, one file each. A new kind is a config class, a row here and its file."""

from __future__ import annotations

from importlib import import_module

from training.config.dataset import DatasetSection
from training.data.source import Opening, Source

_OPENERS = {
    "idx": "training.data.sources.idx:open_idx",
    "image_folder": "training.data.sources.image_folder:open_image_folder",
    "shapes": "training.data.sources.shapes:open_shapes",
    "spiral": "training.data.sources.spiral:open_spiral",
}


def open_source(dataset: DatasetSection, opening: Opening | None = None) -> Source:
    """Open what ``[dataset]`` describes. Raises InputError, in one sentence, when it cannot be used."""
    module, function = _OPENERS[dataset.kind].split(":")  # type: ignore[attr-defined]  # every concrete section has one
    source: Source = getattr(import_module(module), function)(dataset, opening or Opening())
    return source
