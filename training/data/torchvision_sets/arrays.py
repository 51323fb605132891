"""Sets of small images in a few files of a form of their own, each set read as a whole."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.data.arrays.idx_file import read_idx
from training.data.arrays.mat_file import read_arrays
from training.data.sources.idx import find_idx
from training.data.sources.packed import Content, Parts, gather_parts
from training.data.torchvision_sets.from_torchvision import read_semeion, read_usps
from training.data.torchvision_sets.list_files import read_text
from training.data.torchvision_sets.place import AGAIN
from training.errors import InputError
from training.system.untrusted import MEGABYTE, open_file

_CIFAR_IMAGE, _STL_IMAGE = (3, 32, 32), (3, 96, 96)
_SVHN_IMAGE = (32, 32, 3)
_SVHN_ZERO = 10
"""How the digit 0 is labeled there."""
_FER_SIDE = 48
_FER_FILES = ("fer2013.csv", "icml_face_data.csv", "train.csv")
"""All of the same; the first that is there is read. The last one has no test part."""
_FER_PARTS = {"Training": "train", None: "train", "PublicTest": "test", "PrivateTest": "test"}
_MOST_TEXT = 512 * MEGABYTE


def _read_cifar(place: Path, *, fine: bool) -> Content:
    """Records of the labels, of which the last is the class, and the color planes row by row (cs.toronto.edu/~kriz/cifar.html).
    ``fine`` is CIFAR-100, which has two labels."""
    labels = 2 if fine else 1
    train = ["train.bin"] if fine else [f"data_batch_{number}.bin" for number in range(1, 6)]
    test = place / ("test.bin" if fine else "test_batch.bin")
    length = labels + int(np.prod(_CIFAR_IMAGE))
    records = _read_records([*(place / name for name in train), test], length)
    tested = _count_records(test, length)
    return Content(
        records[:, labels:].reshape(-1, *_CIFAR_IMAGE).transpose(0, 2, 3, 1),
        records[:, labels - 1].astype(np.int64),
        {"train": len(records) - tested, "test": tested},
        hashlib.sha256(records.data).hexdigest(),
    )


def read_cifar100_names(place: Path) -> tuple[str, ...]:
    return tuple(read_text(place / "fine_label_names.txt").split())


def _read_stl(place: Path) -> Content:
    """Color planes column by column, and the classes from 1 in files of their own (cs.stanford.edu/~acoates/stl10). The images
    without a class are left out."""
    length = int(np.prod(_STL_IMAGE))
    counts = {part: _count_records(place / f"{part}_X.bin", length) for part in ("train", "test")}
    for part, count in counts.items():
        if _count_records(place / f"{part}_y.bin", 1) != count:
            raise InputError(f"{place / f'{part}_y.bin'} has not one class for each of {count} images.", AGAIN)
    records = _read_records([place / f"{part}_X.bin" for part in counts], length)
    labels = _read_records([place / f"{part}_y.bin" for part in counts], 1)
    digest = hashlib.sha256(records.data)
    digest.update(labels.data)
    planes = records.reshape(-1, *_STL_IMAGE)
    return Content(planes.transpose(0, 3, 2, 1), labels[:, 0].astype(np.int64) - 1, counts, digest.hexdigest())


def _count_records(path: Path, length: int) -> int:
    """How many records of ``length`` bytes the file holds. Raises InputError where that is not even, or none."""
    try:
        count, rest = divmod(path.stat().st_size, length)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.", AGAIN) from error
    if rest or not count:
        raise InputError(f"{path} is cut off or damaged.", AGAIN)
    return count


def _read_records(paths: list[Path], length: int) -> NDArray[np.uint8]:
    """uint8 (N, length): the records of all files behind one another."""
    counts = [_count_records(path, length) for path in paths]
    records = np.empty((sum(counts), length), dtype=np.uint8)
    first = 0
    for path, count in zip(paths, counts, strict=True):
        try:
            with path.open("rb") as stream:
                got = stream.readinto(records[first : first + count].data.cast("B"))
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror or error}.", AGAIN) from error
        if got != count * length:
            raise InputError(f"{path} is cut off or damaged.", AGAIN)
        first += count
    return records


def _read_qmnist(place: Path) -> Content:
    """Images as MNIST has them, and labels of eight numbers, of which the first is the class
    (github.com/facebookresearch/qmnist)."""
    parts: Parts = {}
    for part in ("train", "test"):
        names = (f"qmnist-{part}-{form}" for form in ("images-idx3-ubyte", "labels-idx2-int"))
        images_file, path = (find_idx(place, name) or place / name for name in names)
        images, labels = read_idx(images_file, dimensions=3), read_idx(path, dimensions=2, kind=">i4")
        if len(labels) != len(images):
            raise InputError(f"{path} has not one label for each of {len(images)} images.", AGAIN)
        parts[part] = images[..., None], labels[:, 0].astype(np.int64)
    if parts["train"][0].shape[1:] != parts["test"][0].shape[1:]:
        raise InputError(f"{place}: the images of the two parts differ in size.", AGAIN)
    return gather_parts(parts, by_part=True)


def _read_svhn(place: Path) -> Content:
    """Cropped to 32 x 32: a MATLAB file for each part (ufldl.stanford.edu/housenumbers)."""
    parts: Parts = {}
    for part in ("train", "test"):
        path = place / f"{part}_32x32.mat"
        images, labels = read_arrays(path, ("X", "y"))
        if images.shape[:3] != _SVHN_IMAGE or images.dtype != np.uint8 or images.shape[3:] != (labels.size,):
            raise InputError(f"{path} holds no images of 32 × 32 pixels with a class each.", AGAIN)
        # Columns stand first in MATLAB, so each image lies as colors of columns.
        planes = images.reshape(-1, order="F").reshape(-1, 3, 32, 32)
        parts[part] = planes.astype(np.uint8, copy=False), labels.reshape(-1).astype(np.int64)
    content = gather_parts(parts, by_part=True)
    digits = np.where(content.labels == _SVHN_ZERO, 0, content.labels)
    return replace(content, pixels=content.pixels.transpose(0, 3, 2, 1), labels=digits)


def _read_fer(place: Path) -> Content:
    """A row of a CSV file for each face: what it feels, 48 x 48 gray values and which part it is of
    (kaggle.com/c/challenges-in-representation-learning-facial-expression-recognition-challenge)."""
    path = next((place / name for name in _FER_FILES if (place / name).exists()), place / _FER_FILES[0])
    found: dict[str, list[tuple[NDArray[np.uint8], int]]] = {"train": [], "test": []}
    try:
        with open_file(path, _MOST_TEXT) as stream:
            rows = csv.DictReader((line.decode() for line in stream), skipinitialspace=True)
            for number, row in enumerate(rows, start=2):
                try:
                    found[_FER_PARTS[row.get("Usage")]].append((_parse_face(row["pixels"]), int(row["emotion"])))
                except (KeyError, ValueError, AttributeError, TypeError) as error:
                    wrong = f"{path}, line {number}: is no class with {_FER_SIDE}² gray values."
                    raise InputError(wrong, AGAIN) from error
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read ({error}).", AGAIN) from error
    if not found["train"]:
        raise InputError(f"{path} holds no image to train on.", AGAIN)
    parts = {part: tuple(zip(*faces, strict=True)) for part, faces in found.items() if faces}
    return gather_parts({part: (np.stack(images), np.array(labels)) for part, (images, labels) in parts.items()})


def _parse_face(text: str) -> NDArray[np.uint8]:
    if not (text.isascii() and text.replace(" ", "").isdecimal()):
        raise ValueError("it holds something else than numbers")
    values = np.fromstring(text, np.int64, sep=" ").reshape(_FER_SIDE, _FER_SIDE, 1)
    if values.max() > 255:
        raise ValueError("it holds more than gray values")
    return values.astype(np.uint8)


READERS: dict[str, Callable[[Path], Content]] = {
    "CIFAR10": partial(_read_cifar, fine=False),
    "CIFAR100": partial(_read_cifar, fine=True),
    "STL10": _read_stl,
    "QMNIST": _read_qmnist,
    "SVHN": _read_svhn,
    "FER2013": _read_fer,
    "USPS": read_usps,
    "SEMEION": read_semeion,
}
