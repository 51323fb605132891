"""USPS: a line for each digit, its class from 1 and its 256 grey values from -1 to 1, packed by bzip2
(csie.ntu.edu.tw/~cjlin/libsvmtools/datasets)."""

from __future__ import annotations

import bz2
import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from training.data.known.place import AGAIN
from training.data.sources.packed import Content
from training.errors import InputError
from training.reading import MEGABYTE, open_file

_SIDE = 16
_FILES = {"train": "usps.bz2", "test": "usps.t.bz2"}
_MOST_TEXT = 256 * MEGABYTE


@dataclass(frozen=True)
class Usps:
    place: Path

    def read(self) -> Content:
        values, labels, counts = [], [], {}
        for part, name in _FILES.items():
            lines = _lines(self.place / name)
            for number, line in enumerate(lines, start=1):
                words = line.decode("ascii", "replace").split()
                try:
                    labels.append(int(words[0]) - 1)
                    values.append(np.array([float(word.rpartition(":")[2]) for word in words[1:]], np.float32))
                except (ValueError, IndexError):
                    values.append(np.empty(0, np.float32))
                if len(values[-1]) != _SIDE**2:
                    raise InputError(f"{self.place / name}, line {number}: is no class with 256 numbers.", AGAIN)
            counts[part] = len(lines)
        pixels = ((np.stack(values) + 1) / 2 * 255).astype(np.uint8)  # cut off, as torchvision does
        classes = np.array(labels, np.int64)
        digest = hashlib.sha256(pixels.data)
        digest.update(classes.data)
        return Content(pixels.reshape(-1, _SIDE, _SIDE, 1), classes, counts, digest.hexdigest())


def _lines(path: Path) -> list[bytes]:
    try:
        with open_file(path, _MOST_TEXT) as stream, bz2.open(stream) as packed:
            text = packed.read(_MOST_TEXT + 1)
    except (OSError, EOFError) as error:
        raise InputError(f"{path} cannot be read ({error}).", AGAIN) from error
    if not text or len(text) > _MOST_TEXT:
        raise InputError(f"{path} is damaged, or another file than it should be.", AGAIN)
    return text.splitlines()
