"""FER2013: a row of a CSV file for each face: what it feels, 48 x 48 grey values and which part it is of
(kaggle.com/c/challenges-in-representation-learning-facial-expression-recognition-challenge)."""

from __future__ import annotations

import csv
import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.data.known.place import AGAIN
from training.data.sources.packed import Content
from training.errors import InputError
from training.reading import MEGABYTE, open_file

_SIDE = 48
_FILES = ("fer2013.csv", "icml_face_data.csv", "train.csv")
"""All of the same; the first that is there is read. The last one has no test part."""
_PARTS = {"Training": "train", None: "train", "PublicTest": "test", "PrivateTest": "test"}
_MOST_TEXT = 512 * MEGABYTE


@dataclass(frozen=True)
class Fer:
    place: Path

    def read(self) -> Content:
        path = next((self.place / name for name in _FILES if (self.place / name).exists()), self.place / _FILES[0])
        pixels: dict[str, list[NDArray[np.uint8]]] = {"train": [], "test": []}
        labels: dict[str, list[int]] = {"train": [], "test": []}
        try:
            with open_file(path, _MOST_TEXT) as stream:
                rows = csv.DictReader((line.decode() for line in stream), skipinitialspace=True)
                for number, row in enumerate(rows, start=2):
                    try:
                        part = _PARTS[row.get("Usage")]
                        picture = _picture(row["pixels"])
                        labels[part].append(int(row["emotion"]))
                    except (KeyError, ValueError, AttributeError, TypeError) as error:
                        wrong = f"{path}, line {number}: is no class with {_SIDE}² grey values."
                        raise InputError(wrong, AGAIN) from error
                    pixels[part].append(picture)
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise InputError(f"{path} cannot be read ({error}).", AGAIN) from error
        counts = {part: len(each) for part, each in labels.items() if each}
        if "train" not in counts:
            raise InputError(f"{path} holds no picture to train on.", AGAIN)
        every = np.stack(pixels["train"] + pixels["test"])
        classes = np.array(labels["train"] + labels["test"], np.int64)
        digest = hashlib.sha256(every.data)
        digest.update(classes.data)
        return Content(every, classes, counts, digest.hexdigest())


def _picture(text: str) -> NDArray[np.uint8]:
    if not (text.isascii() and text.replace(" ", "").isdecimal()):
        raise ValueError("it holds something else than numbers")
    values = np.fromstring(text, np.int64, sep=" ").reshape(_SIDE, _SIDE, 1)
    if values.max() > 255:
        raise ValueError("it holds more than grey values")
    return values.astype(np.uint8)
