"""What the script of a run says about its pictures."""

from __future__ import annotations

from pathlib import Path

from training.config.dataset import IdxDataset, ImageFolderDataset
from training.data.folder import list_folder
from training.data.source import silent
from training.data.sources.idx import IDX_FORMS, MNIST_FILES, find_idx
from training.export.dataset_again import looking_again
from training.export.material import Material
from training.export.written import Described
from training.runs.folder import read_json


def describe_idx(material: Material, dataset: IdxDataset) -> Described:
    """The names of those files that the run had; where they are gone, the plain ones."""
    report = read_json(material.run.data_file)
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


def describe_image_folder(material: Material, dataset: ImageFolderDataset) -> Described:
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
        ("", "CLASSES", list(material.facts.names)),
        ("", "HEIGHT", material.facts.shape[1]),
        ("", "WIDTH", material.facts.shape[2]),
        ("", "CHANNELS", material.facts.shape[0]),
    ]
