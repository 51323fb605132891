"""``idx``: the files of MNIST and FashionMNIST (format: "THE IDX FILE FORMAT", LeCun, yann.lecun.com/exdb/mnist)."""

from __future__ import annotations

import hashlib
from functools import partial
from pathlib import Path

import numpy as np
import torch

from training.config.sections.data.dataset import IdxDataset
from training.data.arrays.idx_file import read_idx
from training.data.source import Opening
from training.data.sources.packed import Content, Packed
from training.errors import InputError, LabelRangeError

IDX_FORMS = "images-idx3-ubyte", "labels-idx1-ubyte"
MNIST_FILES = (("train", "train"), ("test", "t10k"))


def open_idx(dataset: IdxDataset, opening: Opening) -> Packed:
    folder = Path(dataset.path)
    if not folder.is_dir():
        raise InputError(f"dataset.path: {folder} is not a folder.", "Choose the folder that holds the idx files.")
    opening.report_progress(f"reading {folder.name}", None)
    source = open_idx_folder(folder)
    source.keep_classes(dataset)
    return source


def open_idx_folder(folder: Path, prefixes: tuple[tuple[str, str], ...] = MNIST_FILES) -> Packed:
    """Gray images from up to two pairs of files: train-* and, if there, t10k-* as the part "test". ``prefixes`` are each part
    with that of its files' names. Raises InputError."""
    source = Packed(partial(_read_parts, prefixes=prefixes), folder)
    seen = torch.bincount(source.targets[source.parts["train"]], minlength=len(source.classes)).tolist()
    if not seen[-1]:
        raise LabelRangeError(
            f"{folder}: the test labels name class {len(seen) - 1}, which no training label does.",
            "Use the files of one dataset.",
        )
    absent = [str(number) for number, count in enumerate(seen) if not count]
    if len(seen) - len(absent) < 2:
        raise InputError(f"{folder}: the training labels hold one class only.", "A classifier needs at least two.")
    read = ", ".join(images.name for images, _ in _find_pairs(folder, prefixes).values())
    source.notes = (f"read {read} in {folder}",)
    if absent:
        source.notes += (f"no training image is labeled {', '.join(absent)}",)
    return source


def _read_parts(folder: Path, prefixes: tuple[tuple[str, str], ...]) -> Content:
    digest = hashlib.sha256()
    pixels, labels = [], []
    pairs = _find_pairs(folder, prefixes)
    for part, (images_file, labels_file) in pairs.items():
        images, classes = read_idx(images_file, dimensions=3), read_idx(labels_file, dimensions=1)
        if len(images) != len(classes):
            raise InputError(
                f"{images_file.name} holds {len(images)} images, but {labels_file.name} holds {len(classes)} labels.",
                "Use the two files that belong together.",
            )
        digest.update(f"{part} {images.shape}".encode())
        digest.update(images.data)
        digest.update(classes.data)
        pixels.append(images)
        labels.append(classes)
    if len({images.shape[1:] for images in pixels}) > 1:
        raise InputError(
            f"the images in {' and '.join(images.name for images, _ in pairs.values())} differ in size.",
            "Use the files of one dataset.",
        )
    counts = dict(zip(pairs, map(len, labels), strict=True))
    targets = np.concatenate(labels).astype(np.int64)
    return Content(np.concatenate(pixels)[..., None], targets, counts, digest.hexdigest())


def _find_pairs(folder: Path, prefixes: tuple[tuple[str, str], ...]) -> dict[str, tuple[Path, Path]]:
    """Of each part the files of images and labels."""
    pairs = {}
    for part, prefix in prefixes:
        images, labels = (find_idx(folder, f"{prefix}-{form}") for form in IDX_FORMS)
        if images and labels:
            pairs[part] = images, labels
        elif part != "test" or images or labels:
            missing = f"{prefix}-{IDX_FORMS[images is not None]}"
            raise InputError(f"{folder} has no file {missing} (or {missing}.gz).", "Choose the folder that holds it.")
    return pairs


def find_idx(folder: Path, name: str) -> Path | None:
    """The file of that name, gzipped or not; some mirrors and unpackers write ".idx". None where there is none."""
    dotted = name.replace("-idx", ".idx")
    places = (folder / each for each in (name, f"{name}.gz", dotted, f"{dotted}.gz"))
    return next((place for place in places if place.is_file()), None)
