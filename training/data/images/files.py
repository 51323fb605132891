"""Which files are to be decoded, each with its mask if any, and as which formats they are tried."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

_USUAL = ("JPEG", "PNG", "GIF", "WEBP", "BMP", "TIFF")
"""Tried first: Pillow's own order costs a small JPEG a third of its decoding time."""
_RARE = ("AVIF", "HEIF", "MPO", "JPEG2000", "PPM", "TGA", "ICO", "DIB", "PCX", "SGI", "QOI")
"""Pillow's other formats stay closed: some start another program (EPS runs Ghostscript), some unpack without a bound
(FITS), most are old code that no training image needs."""


class Pair(NamedTuple):
    """An image and the mask that belongs to it."""

    image: Path
    mask: Path


File = Path | Pair


@dataclass
class Files:
    """Paths relative to ``root``, or whole ones of what lies ``elsewhere``; ``masks`` are in the order of ``paths``."""

    root: Path
    paths: list[str]
    masks: list[str] | None = None
    elsewhere: dict[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, number: int) -> File:
        image = self.root / self.paths[number]
        return image if self.masks is None else Pair(image, self.root / self.masks[number])

    def select(self, rows: NDArray[np.int64]) -> Files:
        """Only those, in the order of ``rows``; itself when those are all."""
        if len(rows) == len(self.paths):
            return self
        masks = None if self.masks is None else [self.masks[row] for row in rows]
        return Files(self.root, [self.paths[row] for row in rows], masks, self.elsewhere)

    def place(self, number: int) -> bytes:
        """What a fingerprint holds of a path: the same wherever the dataset lies."""
        path = self.paths[number].replace("\\", "/")
        for part, folder in self.elsewhere.items() if os.path.isabs(path) else ():  # noqa: PTH117 - strings, as above
            if path.startswith(f"{folder}/"):
                path = f"{part}:{path.removeprefix(folder)}"
                break
        return os.fsencode(path)


@lru_cache(maxsize=1)
def formats() -> tuple[str, ...]:
    """Pillow's names of the formats that are opened, in the order in which they are tried."""
    Image.init()
    return tuple(name for name in (*_USUAL, *_RARE) if name in Image.OPEN)
