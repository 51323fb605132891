"""SEMEION: a line for each digit, its 16 x 16 points, 0 or 1, and a 1 in the place of its class
(archive.ics.uci.edu/dataset/178/semeion+handwritten+digit)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from training.data.known.list_files import read_lines
from training.data.known.place import AGAIN
from training.data.sources.packed import Content
from training.errors import InputError

_SIDE, _CLASSES = 16, 10


@dataclass(frozen=True)
class Semeion:
    place: Path

    def read(self) -> Content:
        path = self.place / "semeion.data"
        rows = []
        for number, line in enumerate(read_lines(path), start=1):
            try:
                rows.append(np.array(line.split(), np.float64).reshape(_SIDE**2 + _CLASSES))
            except ValueError as error:
                raise InputError(f"{path}, line {number}: is no digit of 256 points and its class.", AGAIN) from error
        values = np.array(rows).reshape(-1, _SIDE**2 + _CLASSES)
        given = values[:, _SIDE**2 :]
        if not len(values) or not np.isin(values, (0, 1)).all() or not (given.sum(1) == 1).all():
            raise InputError(f"{path} is damaged: it holds something else than points and one class each.", AGAIN)
        pixels = (values[:, : _SIDE**2] * 255).astype(np.uint8)
        classes = given.argmax(1)
        digest = hashlib.sha256(pixels.data)
        digest.update(classes.data)
        return Content(pixels.reshape(-1, _SIDE, _SIDE, 1), classes, {"train": len(classes)}, digest.hexdigest())
