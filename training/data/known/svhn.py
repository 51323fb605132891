"""SVHN, cropped to 32 x 32: a MATLAB file for each part (ufldl.stanford.edu/housenumbers)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from training.data.known.place import AGAIN
from training.data.mat_file import read_arrays
from training.data.sources.packed import Content
from training.errors import InputError

_PICTURE = (32, 32, 3)
_ZERO = 10
"""How the digit 0 is labelled there."""


@dataclass(frozen=True)
class Svhn:
    place: Path

    def read(self) -> Content:
        planes, labels, counts = [], [], {}
        digest = hashlib.sha256()
        for part in ("train", "test"):
            path = self.place / f"{part}_32x32.mat"
            pictures, classes = read_arrays(path, ("X", "y"))
            if pictures.shape[:3] != _PICTURE or pictures.dtype != np.uint8 or pictures.shape[3:] != (classes.size,):
                raise InputError(f"{path} holds no pictures of 32 × 32 pixels with a class each.", AGAIN)
            # Columns stand first in MATLAB, so each picture lies as colours of columns.
            planes.append(pictures.reshape(-1, order="F").reshape(-1, 3, 32, 32))
            labels.append(classes.reshape(-1).astype(np.int64))
            counts[part] = len(labels[-1])
            digest.update(planes[-1].data)
            digest.update(labels[-1].data)
        every = np.concatenate(labels)
        every[every == _ZERO] = 0
        return Content(np.concatenate(planes).transpose(0, 3, 2, 1), every, counts, digest.hexdigest())
