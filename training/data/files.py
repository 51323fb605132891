"""``Files``: the picture files of a listing, each with its mask where there are masks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.data.names import Names


class Pair(NamedTuple):
    """A picture and the mask that belongs to it."""

    picture: Path
    mask: Path


File = Path | Pair


@dataclass
class Files:
    """Paths relative to ``root``; ``masks`` are in the order of ``paths``."""

    root: Path
    paths: Names
    masks: Names | None = None

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, number: int) -> File:
        picture = self.root / self.paths[number]
        return picture if self.masks is None else Pair(picture, self.root / self.masks[number])

    def __iter__(self) -> Iterator[File]:
        return (self[number] for number in range(len(self)))

    def select(self, rows: NDArray[np.int64]) -> Files:
        """Only those, in the order of ``rows``; itself when those are all."""
        if len(rows) == len(self.paths):
            return self
        return Files(self.root, self.paths.select(rows), None if self.masks is None else self.masks.select(rows))
