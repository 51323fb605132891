"""CIFAR and STL-10: records of one length in binary files (cs.toronto.edu/~kriz/cifar.html, cs.stanford.edu/~acoates/stl10)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.data.known.place import AGAIN
from training.data.sources.packed import Content
from training.errors import InputError
from training.reading import MEGABYTE, read_bytes

_CHANNELS = 3
_CIFAR_SIDE, _STL_SIDE = 32, 96


@dataclass(frozen=True)
class Cifar:
    """Records of the labels, of which the last is the class, and the colour planes row by row. ``fine`` is CIFAR-100, which
    has two labels."""

    place: Path
    fine: bool

    @property
    def labels(self) -> int:
        """Bytes before each picture."""
        return 2 if self.fine else 1

    @property
    def files(self) -> dict[str, list[str]]:
        """Those of each part."""
        if self.fine:
            return {"train": ["train.bin"], "test": ["test.bin"]}
        return {"train": [f"data_batch_{number}.bin" for number in range(1, 6)], "test": ["test_batch.bin"]}

    def read(self) -> Content:
        labels, files = self.labels, self.files
        length = labels + _CHANNELS * _CIFAR_SIDE**2
        records = read_records([self.place / name for names in files.values() for name in names], length)
        tested = count_records(self.place / files["test"][0], length)
        planes = records[:, labels:].reshape(-1, _CHANNELS, _CIFAR_SIDE, _CIFAR_SIDE)
        return Content(
            planes.transpose(0, 2, 3, 1),
            records[:, labels - 1].astype(np.int64),
            {"train": len(records) - tested, "test": tested},
            hashlib.sha256(records.data).hexdigest(),
        )

    def names(self) -> tuple[str, ...]:
        """Those of CIFAR-100's classes."""
        path = self.place / "fine_label_names.txt"
        try:
            return tuple(read_bytes(path, MEGABYTE).decode().split())
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{path} cannot be read ({error}).", AGAIN) from error


@dataclass(frozen=True)
class Stl:
    """Colour planes column by column, and the classes from 1 in files of their own. The pictures without a class are left
    out."""

    place: Path

    def read(self) -> Content:
        length = _CHANNELS * _STL_SIDE**2
        records = read_records([self.place / f"{part}_X.bin" for part in ("train", "test")], length)
        labels = read_records([self.place / f"{part}_y.bin" for part in ("train", "test")], 1)
        counts = {part: count_records(self.place / f"{part}_X.bin", length) for part in ("train", "test")}
        for part, count in counts.items():
            if count_records(self.place / f"{part}_y.bin", 1) != count:
                raise InputError(
                    f"{self.place / f'{part}_y.bin'} has not one class for each of {count} pictures.", AGAIN
                )
        digest = hashlib.sha256(records.data)
        digest.update(labels.data)
        planes = records.reshape(-1, _CHANNELS, _STL_SIDE, _STL_SIDE)
        return Content(planes.transpose(0, 3, 2, 1), labels[:, 0].astype(np.int64) - 1, counts, digest.hexdigest())


def count_records(path: Path, length: int) -> int:
    """How many records of ``length`` bytes the file holds. Raises InputError where that is not even, or none."""
    try:
        count, rest = divmod(path.stat().st_size, length)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.", AGAIN) from error
    if rest or not count:
        raise InputError(f"{path} is cut off or damaged.", AGAIN)
    return count


def read_records(paths: list[Path], length: int) -> NDArray[np.uint8]:
    """uint8 (N, length): the records of all files behind one another."""
    counts = [count_records(path, length) for path in paths]
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
