"""What the script of a run says about its data: where it comes from, which part of it is for what."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from training.config.dataset_section import DatasetSection, PartsSection
from training.config.text import TextDataset
from training.config.zoo import StartingWeights
from training.errors import in_words
from training.export.material import Material
from training.export.picture_listing import describe_idx, describe_image_folder
from training.export.prepared_tensors import PreparedTensors
from training.export.rows_listing import describe_table, describe_text
from training.export.variation import variation_settings
from training.export.written import Described, Setting, code, setting

_TOYS = {
    "spiral": ("turns", "noise", "data_seed"),
    "moons": ("noise", "data_seed"),
    "circles": ("noise", "factor", "data_seed"),
    "blobs": ("classes", "features", "spread", "data_seed"),
}
"""The settings that the formulas of made points ask for, in their order."""
_DESCRIBED: dict[str, Callable[[Material, Any], Described]] = {
    "idx": describe_idx,
    "image_folder": describe_image_folder,
    "table": describe_table,
    "text": describe_text,
}
_PACKAGES = {"image_folder": ["pillow", "numpy"], "prepared": ["numpy"], "table": ["polars"]}
_SAMPLES = {
    "image": "Images uint8 (n, height, width, channels)",
    "vector": "Rows float32 (n, columns)",
    "list": "Queries float32 (n, items, columns)",
}


def describe_data(material: Material, file: str) -> dict[str, Any]:
    """For the templates; ``file`` is the script's name. Raises InputError when the dataset would be needed and is gone."""
    dataset, prepared = material.config.dataset, material.prepared
    if prepared is None:
        facts, settings = _DESCRIBED.get(dataset.kind, _made)(material, dataset)
        facts = _NOTHING | {"dataset": dataset.kind, "place": getattr(dataset, "path", "")} | facts
        facts |= _parts(dataset, facts["parts"], facts["grouped"])
    else:
        facts, settings = _describe_prepared(prepared, data_name(file))
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


def data_name(file: str) -> str:
    """What the file with the samples is called that lies beside the script ``file``."""
    return f"data_of_{Path(file).stem}.npz"


_NOTHING: dict[str, Any] = {
    "parts": {"train": ""},
    "grouped": False,
    "split_column": None,
    "marked": (),
    "packages": (),
    "data_file": "",
}
"""What most kinds of data do not have."""


def _describe_prepared(prepared: PreparedTensors, name: str) -> Described:
    parts = dict.fromkeys(prepared.splits, "")
    facts = _NOTHING | {
        "dataset": "prepared",
        "place": name,
        "parts": parts,
        "data_file": f"{name} ({len(prepared.source.targets):,} samples, {in_words(prepared.size)})",
        "samples_words": _SAMPLES[prepared.source.layout],
        "validation": "given",
        "held": False,
        "test_held": False,
        "by": "",
        "copies": False,
        "tested": "test" in parts,
    }
    return facts, [("What the file with the samples has to say.", "DATA_DIGEST", code(prepared.digest))]


def _made(material: Material, dataset: Any) -> Described:
    """Points that are made on the spot."""
    names = _TOYS[dataset.kind]
    call = f"make_{dataset.kind}(numbers, {', '.join(name.upper() for name in names)})"
    return {"dataset": "made", "made_by": call}, [setting(dataset, name) for name in ("samples", *names)]


def _parts(dataset: DatasetSection, parts: dict[str, Any], grouped: bool) -> dict[str, Any]:
    """Which part judges: one that came with the data, "test", or one that is held back."""
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
    return {
        "parts": parts,
        "validation": "given",
        "held": held,
        "test_held": test_held,
        "test_judges": validation == "test",
        "by": by,
        "copies": copies,
        "tested": test_held or ("test" in parts and validation != "test"),
    }


def data_settings(material: Material, facts: dict[str, Any]) -> list[Setting]:
    """What the templates of data name in capitals."""
    dataset = material.config.dataset
    settings: list[Setting] = []
    if facts["data_file"]:
        settings.append(("", "DATA", f"Path(__file__).with_name({code(facts['place'])})"))
    elif facts["path"]:
        settings.append(("", "DATA", code(facts["place"])))
    settings += facts["data_settings"]
    if facts["dataset"] == "idx":
        settings.append(("How the names of each part's files begin.", "FILES", facts["parts"]))
    if facts["dataset"] == "image_folder":
        settings.append(("Each part and its folder.", "PARTS", facts["parts"]))
    if facts["split_column"]:
        settings.append(
            ("The column that says which part a row belongs to.", "SPLIT_COLUMN", code(facts["split_column"]))
        )
        parts = {word: part for part, words in facts["parts"].items() for word in words}
        settings.append(("The part that each of its words means, in lower case.", "PARTS", parts))
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
