"""What the script of a run says about its data: where it comes from, which part of it is for what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from training.config.dataset import ShapesDataset
from training.config.dataset_section import DatasetSection, PartsSection
from training.config.text import TextDataset
from training.config.zoo import StartingWeights
from training.export.known_listing import describe_known_masks, describe_known_set
from training.export.material import Material
from training.export.picture_listing import (
    describe_idx,
    describe_image_folder,
    describe_image_table,
    describe_segmentation,
)
from training.export.rows_listing import describe_npz, describe_table, describe_text
from training.export.variation import variation_settings
from training.export.written import Described, Setting, code, setting

_TOYS = {
    "spiral": ("samples", "turns", "noise", "data_seed"),
    "moons": ("samples", "noise", "data_seed"),
    "circles": ("samples", "noise", "factor", "data_seed"),
    "ranked": ("samples", "items", "features", "noise", "data_seed"),
    "blobs": ("samples", "classes", "features", "spread", "data_seed"),
}
"""The settings that the formulas of made points name."""
_DESCRIBED: dict[str, Callable[[Material, Any], Described]] = {
    "idx": describe_idx,
    "image_folder": describe_image_folder,
    "torchvision": describe_known_set,
    "torchvision_segmentation": describe_known_masks,
    "image_table": describe_image_table,
    "segmentation": describe_segmentation,
    "npz": describe_npz,
    "npz_pictures": describe_npz,
    "table": describe_table,
    "ranking": describe_table,
    "text": describe_text,
}
_PACKAGES = {
    "image_folder": ["pillow", "numpy"],
    "image_table": ["pillow", "numpy", "polars"],
    "segmentation": ["pillow", "numpy"],
    "listed": ["pillow", "numpy"],
    "packed": ["numpy"],
    "npz": ["numpy"],
    "table": ["polars"],
    "ranking": ["polars"],
}


def describe_data(material: Material) -> dict[str, Any]:
    """For the templates. Raises InputError when the dataset would be needed and is gone."""
    dataset = material.config.dataset
    facts, settings = _DESCRIBED.get(dataset.kind, _made)(material, dataset)
    facts = _NOTHING | {"dataset": dataset.kind, "place": getattr(dataset, "path", "")} | facts
    facts |= _parts(dataset, facts["parts"], facts["grouped"])
    return facts | {
        "path": bool(facts["place"]),
        "missing": material.normalisation.missing,
        "tokens": material.facts.layout == "tokens",
        "image": material.facts.layout == "image",
        "channels": material.facts.shape[0],
        "picture_bytes": torch.Size(material.facts.shape).numel(),
        "decoded_by_gpu": material.config.loader.decoder == "gpu",
        "alike": material.config.loader.sampling == "balanced",
        "data_settings": settings,
        "data_packages": facts["packages"] or _PACKAGES.get(facts["dataset"], []),
    }


_NOTHING: dict[str, Any] = {
    "parts": {"train": ""},
    "grouped": False,
    "split_column": None,
    "parquet": False,
    "decimal_comma": False,
    "marked": (),
    "packages": (),
}
"""What most kinds of data do not have."""


def _made(material: Material, dataset: Any) -> Described:
    """Points and pictures that are made on the spot."""
    if isinstance(dataset, ShapesDataset):
        noise = [setting(dataset, "noise")] * (dataset.noise > 0)
        side: Setting = ("Side of each square picture.", "SIDE", dataset.image_size)
        return {}, [setting(dataset, "samples"), side, *noise, setting(dataset, "data_seed")]
    return {}, [setting(dataset, name) for name in _TOYS[dataset.kind]]


def _parts(dataset: DatasetSection, parts: dict[str, Any], grouped: bool) -> dict[str, Any]:
    """Which part judges: "given" with the data or divided where it is read, "test", or "held back" by ``main``."""
    wanted = dataset.validation if isinstance(dataset, PartsSection) else "auto"
    copies = isinstance(dataset, PartsSection) and dataset.duplicates != "keep"
    validation = "held back"
    if isinstance(dataset, TextDataset) or (wanted == "auto" and "validation" in parts):
        validation = "given"
    elif wanted == "test":
        validation = "test"
    held, test_held = validation == "held back", bool(dataset.test_fraction) and validation != "test"
    by = "" if not held and not test_held else "groups" if grouped else "classes"
    parts = {part: told for part, told in parts.items() if part != "validation" or validation == "given"}
    # Where groups or copies matter, read_data does it: it alone knows them.
    apart = bool(by) and (grouped or copies or not held)
    return {
        "parts": parts,
        "validation": "given" if apart and held else validation,
        "held": held,
        "test_held": test_held,
        "by": by,
        "apart": apart,
        "copies": copies,
        "tested": test_held or ("test" in parts and validation != "test"),
    }


def data_settings(material: Material, facts: dict[str, Any]) -> list[Setting]:
    """What the templates of data name in capitals."""
    dataset = material.config.dataset
    settings: list[Setting] = [("", "DATA", code(facts["place"]))] * facts["path"]
    settings += facts["data_settings"]
    if facts["dataset"] == "image_folder":
        settings.append(("Each part and its folder.", "PARTS", facts["parts"]))
    elif facts["dataset"] == "segmentation":
        settings.append(("The folders of each part: pictures and masks.", "PARTS", facts["parts"]))
    elif facts["dataset"] in ("npz", "npz_pictures"):
        settings.append(("Inputs and targets of each part.", "ARRAYS", facts["parts"]))
    if facts["split_column"]:
        settings.append(
            ("The column that says which part a row belongs to.", "SPLIT_COLUMN", code(facts["split_column"]))
        )
        settings.append(("What it calls each part.", "PARTS", facts["parts"]))
    if facts["by"] == "groups":
        settings.append(setting(dataset, "group_column"))
    names = variation_settings(material.config)
    names += ["validation_fraction"] * facts["held"] + ["test_fraction"] * facts["test_held"]
    names += ["split_seed"] * bool(facts["by"])
    settings += [setting(dataset, name) for name in names]
    mean, std = material.normalisation.mean, material.normalisation.std
    if facts["tokens"]:
        return settings
    model = material.config.model
    as_known = isinstance(model, StartingWeights) and model.normalise == "weights"
    known = as_known and (getattr(model, "weights", None) or getattr(model, "pretrained", None))
    where = "As the weights know pictures." if known else "Measured on the training samples."
    return [*settings, (where, "MEAN", mean), ("", "STD", std)]
