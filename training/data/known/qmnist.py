"""QMNIST: pictures as MNIST has them, and labels of eight numbers, of which the first is the class
(github.com/facebookresearch/qmnist)."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.data.idx_file import IdxFile
from training.data.known.place import AGAIN
from training.data.sources.packed import Content
from training.errors import InputError
from training.reading import MEGABYTE, open_file

_HEADER = 12
_INTEGERS = b"\0\0\x0c\x02"
_MOST_LABELS = 64 * MEGABYTE


@dataclass(frozen=True)
class Qmnist:
    place: Path

    def read(self) -> Content:
        pixels, labels, counts = [], [], {}
        digest = hashlib.sha256()
        for part in ("train", "test"):
            pictures = IdxFile(_find(self.place, f"qmnist-{part}-images-idx3-ubyte"), dimensions=3).take()
            path = _find(self.place, f"qmnist-{part}-labels-idx2-int")
            classes = _first_column(path)
            if len(classes) != len(pictures):
                raise InputError(f"{path} has not one label for each of {len(pictures)} pictures.", AGAIN)
            pixels.append(pictures)
            labels.append(classes)
            counts[part] = len(classes)
            digest.update(pictures.data)
            digest.update(classes.data)
        if pixels[0].shape[1:] != pixels[1].shape[1:]:
            raise InputError(f"{self.place}: the pictures of the two parts differ in size.", AGAIN)
        return Content(np.concatenate(pixels)[..., None], np.concatenate(labels), counts, digest.hexdigest())


def _find(place: Path, name: str) -> Path:
    return next((path for path in (place / name, place / f"{name}.gz") if path.is_file()), place / name)


def _first_column(path: Path) -> NDArray[np.int64]:
    """Of an array of integers in two dimensions."""
    try:
        with open_file(path, _MOST_LABELS) as stream:
            packed = stream.read(2) == b"\x1f\x8b"
            stream.seek(0)
            data = gzip.GzipFile(fileobj=stream).read(_MOST_LABELS + 1) if packed else stream.read()
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read ({error}).", AGAIN) from error
    rows, columns = np.frombuffer(data[4:_HEADER].ljust(8, b"\0"), ">u4").tolist()
    if data[:4] != _INTEGERS or not rows or not columns or len(data) != _HEADER + 4 * rows * columns:
        raise InputError(f"{path} is damaged: it does not hold the labels that its header promises.", AGAIN)
    return np.frombuffer(data, ">i4", offset=_HEADER).reshape(rows, columns)[:, 0].astype(np.int64)
