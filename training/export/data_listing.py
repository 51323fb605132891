"""What the script of a run says about its data: where it comes from, which part of it is for what."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from training.config.dataset_section import DatasetSection, PartsSection
from training.config.text import TextDataset
from training.config.zoo import StartingWeights
from training.errors import in_words
from training.export.augmentation_listing import augmentation_settings
from training.export.material import Material
from training.export.picture_listing import describe_idx, describe_image_folder
from training.export.prepared_tensors import PreparedTensors
from training.export.rows_listing import describe_table, describe_text
from training.export.task_listing import TRUTH
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
_SAMPLES = {
    "image": "Images uint8 (n, height, width, channels)",
    "vector": "Rows float32 (n, columns)",
    "list": "Queries float32 (n, items, columns)",
    "tokens": "Windows of CONTEXT tokens (n, CONTEXT)",
}


def describe_data(material: Material, file: str) -> dict[str, Any]:
    """For the templates; ``file`` is the script's name. Raises InputError when the dataset would be needed and is gone."""
    dataset, prepared = material.config.dataset, material.prepared
    if prepared is None:
        facts, settings = _DESCRIBED.get(dataset.kind, _made)(material, dataset)
        facts = _NOTHING | {"dataset": dataset.kind, "place": getattr(dataset, "path", "")} | facts
        facts |= _parts(dataset, facts, material.facts.target)
    else:
        facts, settings = _describe_prepared(prepared, data_name(file))
    return facts | {
        "path": bool(facts["place"]),
        "missing": material.normalisation.missing,
        "tokens": material.facts.layout == "tokens",
        "image": material.facts.layout == "image",
        "samples_words": _SAMPLES[material.facts.layout],
        "alike": material.config.loader.sampling == "balanced",
        "data_settings": settings,
    }


def data_name(file: str) -> str:
    """What the file with the samples is called that lies beside the script ``file``."""
    return f"data_of_{Path(file).stem}.npz"


_NOTHING: dict[str, Any] = {
    "parts": {"train": ""},
    "split_column": None,
    "group_column": None,
    "keys": "[sample.numpy().tobytes() for sample in samples]",
    "unreadable": "",
    "data_packages": (),
    "data_file": "",
}
"""What most kinds of data say."""


def _describe_prepared(prepared: PreparedTensors, name: str) -> Described:
    facts = _NOTHING | {
        "dataset": "prepared",
        "place": name,
        "data_file": f"{name} ({len(prepared.source.targets):,} samples, {in_words(prepared.size)})",
        "reading": [f"samples, {TRUTH[prepared.source.target]}, parts = read_prepared(path, DATA_DIGEST)"],
        "unreadable": ", EOFError, BadZipFile",
        "data_packages": ["numpy"],
        "held": (),
        "copies": False,
        "tested": "test" in prepared.splits,
    }
    return facts, [("What the file with the samples has to say.", "DATA_DIGEST", code(prepared.digest))]


def _made(material: Material, dataset: Any) -> Described:
    """Points that are made on the spot."""
    names = _TOYS[dataset.kind]
    call = f"make_{dataset.kind}(numbers, {', '.join(name.upper() for name in names)})"
    return {"made_by": call}, [setting(dataset, name) for name in ("samples", *names)]


def _parts(dataset: DatasetSection, facts: dict[str, Any], target: str) -> dict[str, Any]:
    """Which part judges: one that came with the data, "test", or one that is held back."""
    wanted, parts = dataset.validation if isinstance(dataset, PartsSection) else "auto", dict(facts["parts"])
    given = isinstance(dataset, TextDataset) or (wanted == "auto" and "validation" in parts)
    if not given:
        parts.pop("validation", None)
    if wanted == "test":
        parts = {"validation" if part == "test" else part: told for part, told in parts.items()}
    held = [] if given or wanted == "test" else [("validation", "VALIDATION_FRACTION", "split")]
    if dataset.test_fraction and wanted != "test":
        of_what_is_left = ' * (len(train) + len(parts["validation"])) / len(train)' if held else ""
        held.append(("test", f"TEST_FRACTION{of_what_is_left}", "test split"))
    grouped = facts["group_column"] is not None
    of_class = "classes[train]" if target == "class" else "torch.zeros_like(train)"
    return {
        "parts": parts,
        "held": held,
        "kinds": "group_numbers(frame[GROUP_COLUMN])[train]" if grouped else of_class,
        "draw": "hold_back_groups" if grouped else "hold_back_by_class",
        "copies": isinstance(dataset, PartsSection) and dataset.duplicates != "keep",
        "tested": "test" in parts or any(part == "test" for part, _, _ in held),
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
        settings.append(("", "FILES", facts["parts"]))
    if facts["dataset"] == "image_folder":
        settings.append(("Each part and its folder.", "PARTS", facts["parts"]))
    if facts["split_column"]:
        settings.append(
            ("The column that says which part a row belongs to.", "SPLIT_COLUMN", code(facts["split_column"]))
        )
        parts = {word: part for part, words in facts["parts"].items() for word in words}
        settings.append(("The part that each of its words means, in lower case.", "PARTS", parts))
    if facts["held"] and facts["group_column"] is not None:
        settings.append(setting(dataset, "group_column"))
    names = augmentation_settings(material.config)
    if facts["held"]:
        names += [*(f"{part}_fraction" for part, _, _ in facts["held"]), "split_seed"]
    settings += [setting(dataset, name) for name in names]
    mean, std = material.normalisation.mean, material.normalisation.std
    if facts["tokens"]:
        return settings
    model = material.config.model
    as_known = isinstance(model, StartingWeights) and model.normalise == "weights"
    known = as_known and (getattr(model, "weights", None) or getattr(model, "pretrained", None))
    where = "As the weights know pictures." if known else "Measured on the training samples."
    return [*settings, (where, "MEAN", mean), ("", "STD", std)]
