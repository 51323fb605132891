"""Reading the sets of small pictures that lie in a few files of their own forms, as short as a person would write it. The
exported script has the function of its set: pictures uint8 (n, height, width, channels) and int64 (n,) classes of a part, "train"
or "test", of which the latter may have none."""

from __future__ import annotations

import bz2
import csv
import gzip
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from training.export.plain_lists import read_arrays

Arrays = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]


def find(folder: Path, *names: str) -> Path:
    """The first of these files that is there."""
    for name in names:
        if (folder / name).exists():
            return folder / name
    raise SystemExit(f"{folder} has no file {names[0]}; say where the data is with --data.")


def cifar10(folder: Path, part: str) -> Arrays:
    """A record is one byte for the class and a plane of 32 x 32 bytes for each colour."""
    names = ["test_batch.bin"] if part == "test" else [f"data_batch_{number}.bin" for number in range(1, 6)]
    records = np.concatenate([np.fromfile(find(folder, name), np.uint8).reshape(-1, 1 + 3072) for name in names])
    return records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), records[:, 0].astype(np.int64)


def cifar100(folder: Path, part: str) -> Arrays:
    """A record is a byte for the coarse class, one for the fine class and a plane of 32 x 32 bytes for each colour."""
    records = np.fromfile(find(folder, f"{part}.bin"), np.uint8).reshape(-1, 2 + 3072)
    return records[:, 2:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), records[:, 1].astype(np.int64)


def stl10(folder: Path, part: str) -> Arrays:
    """A plane of 96 x 96 bytes for each colour, column by column; classes count from 1."""
    pixels = np.fromfile(find(folder, f"{part}_X.bin"), np.uint8).reshape(-1, 3, 96, 96)
    return pixels.transpose(0, 3, 2, 1), np.fromfile(find(folder, f"{part}_y.bin"), np.uint8).astype(np.int64) - 1


def svhn(folder: Path, part: str) -> Arrays:
    """The digit 0 is labelled 10."""
    pixels, classes = read_arrays(folder / f"{part}_32x32.mat", ("X", "y"))
    return pixels.transpose(3, 0, 1, 2), classes.reshape(-1).astype(np.int64) % 10


def usps(folder: Path, part: str) -> Arrays:
    """A line is a class, which counts from 1, and the number and value of each of 16 x 16 pixels, from -1 to 1."""
    with bz2.open(find(folder, "usps.bz2" if part == "train" else "usps.t.bz2"), "rt") as text:
        rows = [line.split() for line in text]
    values = np.array([[float(word.rpartition(":")[2]) for word in words] for _, *words in rows], np.float32)
    pixels = ((values + 1) / 2 * 255).astype(np.uint8)
    return pixels.reshape(-1, 16, 16, 1), np.array([int(label) - 1 for label, *_ in rows])


def qmnist(folder: Path, part: str) -> Arrays:
    """Both files begin with a type and their sizes, big-endian; of the numbers that label a picture, the first is its class."""
    found = []
    for name in (f"qmnist-{part}-images-idx3-ubyte", f"qmnist-{part}-labels-idx2-int"):
        path = find(folder, name, f"{name}.gz")
        found.append(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())
    pixels, labels = found
    count, height, width = struct.unpack_from(">3I", pixels, 4)
    classes = np.frombuffer(labels, ">i4", offset=12).reshape(count, -1)[:, 0].astype(np.int64)
    return np.frombuffer(pixels, np.uint8, offset=16).reshape(count, height, width, 1), classes


def semeion(folder: Path, part: str) -> Arrays:
    """A line is 16 x 16 points, 0 or 1, and a 1 in the place of its class; there is no part but the first."""
    rows = np.loadtxt(find(folder, "semeion.data"))[: None if part == "train" else 0]
    return (rows[:, :256] * 255).astype(np.uint8).reshape(-1, 16, 16, 1), rows[:, 256:].argmax(1)


def fer2013(folder: Path, part: str) -> Arrays:
    """A row is a class, 48 x 48 grey values and, but in train.csv, for what it is used."""
    pixels, classes = [], []
    with find(folder, "fer2013.csv", "icml_face_data.csv", "train.csv").open(newline="") as text:
        for row in csv.DictReader(text, skipinitialspace=True):
            if (row.get("Usage", "Training") == "Training") == (part == "train"):
                pixels.append([int(word) for word in row["pixels"].split()])
                classes.append(int(row["emotion"]))
    return np.array(pixels, np.uint8).reshape(-1, 48, 48, 1), np.array(classes, np.int64)


PACKED: dict[str, Callable[[Path, str], Arrays]] = {
    "CIFAR10": cifar10,
    "CIFAR100": cifar100,
    "STL10": stl10,
    "SVHN": svhn,
    "USPS": usps,
    "QMNIST": qmnist,
    "SEMEION": semeion,
    "FER2013": fer2013,
}
"""The function of each set."""
