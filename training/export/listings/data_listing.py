"""What the script of a run says about its data: where it comes from, which part of it is for what."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from training.config.sections.data.dataset import IdxDataset, ImageFolderDataset
from training.config.sections.data.dataset_section import DatasetSection, PartsSection
from training.config.sections.data.text import TextDataset
from training.config.sections.pretrained import StartingWeights
from training.data.images.folder import list_folder
from training.data.source import silent
from training.data.sources.idx import IDX_FORMS, MNIST_FILES, find_idx
from training.errors import format_bytes
from training.export.bundle import ExportBundle
from training.export.listings.augmentation_listing import augmentation_settings
from training.export.listings.prepared_tensors import PreparedTensors, looking_again
from training.export.listings.rows_listing import describe_table, describe_text
from training.export.listings.task_listing import TRUTH
from training.export.literals import Described, Setting, code, setting
from training.runs.folder import read_json

_TOYS = {
    "spiral": ("turns", "noise", "data_seed"),
    "moons": ("noise", "data_seed"),
    "circles": ("noise", "factor", "data_seed"),
    "blobs": ("classes", "features", "spread", "data_seed"),
}
"""The settings that the formulas of made points ask for, in their order."""
_SAMPLES = {
    "image": "Images uint8 (n, height, width, channels)",
    "vector": "Rows float32 (n, columns)",
    "list": "Queries float32 (n, items, columns)",
    "tokens": "Windows of CONTEXT tokens (n, CONTEXT)",
}


def _describe_idx(bundle: ExportBundle, dataset: IdxDataset) -> Described:
    """The names of those files that the run had; where they are gone, the plain ones."""
    report = read_json(bundle.run.data_file)
    known = report.get("samples", {}) if report else {}
    tested = dataset.validation == "test" or "test" in known
    parts = dict(MNIST_FILES)
    if not tested and (known or not any(Path(dataset.path).glob(f"{parts['test']}-*"))):
        del parts["test"]
    names = {part: [f"{prefix}-{form}" for form in IDX_FORMS] for part, prefix in parts.items()}
    found = {part: [find_idx(Path(dataset.path), name) or Path(name) for name in pair] for part, pair in names.items()}
    return (
        {
            "parts": {part: tuple(file.name for file in pair) for part, pair in found.items()},
            "reading": ["samples, classes, parts = read_idx_parts(path, FILES)"],
            "unreadable": ", EOFError, IndexError, RuntimeError, zlib.error",  # broken gzip, header, and length
        },
        [],
    )


def _describe_image_folder(bundle: ExportBundle, dataset: ImageFolderDataset) -> Described:
    with looking_again():
        listing = list_folder(Path(dataset.path), silent)
    parts: dict[str, str] = {}
    for path, owner in zip(listing.paths, listing.owners, strict=True):
        part = listing.groups[owner][0]
        parts.setdefault(part, Path(path).parts[0])
    divided = any(note.startswith("parts found") for note in listing.notes)
    suffixes = sorted({Path(path).suffix.lower() for path in listing.paths})
    files = "_" if dataset.duplicates == "keep" else "files"
    return {
        "parts": parts if divided else {"train": "."},
        "reading": [
            "roots = {part: path / folder for part, folder in PARTS.items()}",
            "decode = partial(decode_image, height=HEIGHT, width=WIDTH, channels=CHANNELS)",
            f"samples, classes, parts, {files} = read_images(roots, CLASSES, SUFFIXES, decode, print)",
        ],
        "keys": "[hashlib.sha256(file.read_bytes()).digest() for file in files]",
        "data_packages": ["pillow", "numpy"],
    }, [
        ("Endings of the images' names.", "SUFFIXES", suffixes),
        ("", "CLASSES", list(bundle.facts.names)),
        ("", "HEIGHT", bundle.facts.shape[1]),
        ("", "WIDTH", bundle.facts.shape[2]),
        ("", "CHANNELS", bundle.facts.shape[0]),
    ]


_DESCRIBED: dict[str, Callable[[ExportBundle, Any], Described]] = {
    "idx": _describe_idx,
    "image_folder": _describe_image_folder,
    "table": describe_table,
    "text": describe_text,
}


def describe_data(bundle: ExportBundle, file: str) -> dict[str, Any]:
    """For the templates; ``file`` is the script's name. Raises InputError when the dataset would be needed and is gone."""
    dataset, prepared = bundle.config.dataset, bundle.prepared
    if prepared is None:
        facts, settings = _DESCRIBED.get(dataset.kind, _made)(bundle, dataset)
        facts = _NOTHING | {"dataset": dataset.kind, "place": getattr(dataset, "path", "")} | facts
        facts |= _parts(dataset, facts, bundle.facts.target)
    else:
        facts, settings = _describe_prepared(prepared, data_name(file))
    return facts | {
        "data_settings": _settings(bundle, facts, settings),
        "path": bool(facts["place"]),
        "missing": bundle.normalization.missing,
        "tokens": bundle.facts.layout == "tokens",
        "image": bundle.facts.layout == "image",
        "samples_words": _SAMPLES[bundle.facts.layout],
        "alike": bundle.config.loader.sampling == "balanced",
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
        "data_file": f"{name} ({len(prepared.source.targets):,} samples, {format_bytes(prepared.size)})",
        "reading": [f"samples, {TRUTH[prepared.source.target]}, parts = read_prepared(path, DATA_DIGEST)"],
        "unreadable": ", EOFError, BadZipFile",
        "data_packages": ["numpy"],
        "held": (),
        "copies": False,
        "tested": "test" in prepared.splits,
    }
    return facts, [("What the file with the samples has to say.", "DATA_DIGEST", code(prepared.digest))]


def _made(bundle: ExportBundle, dataset: Any) -> Described:
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


def _settings(bundle: ExportBundle, facts: dict[str, Any], own: list[Setting]) -> list[Setting]:
    """What the templates of data name in capitals; ``own`` are those of the kind of data."""
    dataset = bundle.config.dataset
    place = code(facts["place"])
    settings: list[Setting] = [("", "DATA", f"Path(__file__).with_name({place})" if facts["data_file"] else place)]
    settings = settings * bool(facts["place"]) + own
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
    names = augmentation_settings(bundle.config)
    if facts["held"]:
        names += [*(f"{part}_fraction" for part, _, _ in facts["held"]), "split_seed"]
    settings += [setting(dataset, name) for name in names]
    mean, std = bundle.normalization.mean, bundle.normalization.std
    if bundle.facts.layout == "tokens":
        return settings
    model = bundle.config.model
    as_known = isinstance(model, StartingWeights) and model.normalise == "weights"
    known = as_known and (getattr(model, "weights", None) or getattr(model, "pretrained", None))
    where = "As the weights know images." if known else "Measured on the training samples."
    return [*settings, (where, "MEAN", mean), ("", "STD", std)]
