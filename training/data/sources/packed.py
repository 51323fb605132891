"""``Packed``: small images that lie in a few files, all of which are read at once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.config.sections.data.dataset_section import DatasetSection
from training.data.class_choice import choose_classes
from training.data.source import Source, number_parts
from training.errors import InputError, TrainingError

_AGAIN = "Delete it, and get it again."


@dataclass(frozen=True)
class Content:
    """``pixels`` uint8 (N, H, W, C), however they lie in memory; ``labels`` int64 (N,), those of each part behind one
    another, ``counts`` in each; ``digest`` the SHA-256 of all of it."""

    pixels: NDArray[np.uint8]
    labels: NDArray[np.int64]
    counts: dict[str, int]
    digest: str


Parts = dict[str, tuple[NDArray[np.uint8], NDArray[np.int64]]]
"""Of each part the images and labels."""


def gather_parts(parts: Parts, by_part: bool = False) -> Content:
    """All parts behind one another; the digest is of the images and then the labels of all, or of one part after the other."""
    images, labels = (np.concatenate(each) for each in zip(*parts.values(), strict=True))
    digest = hashlib.sha256()
    for array in (array for part in parts.values() for array in part) if by_part else (images, labels):
        digest.update(np.ascontiguousarray(array).data)
    return Content(images, labels, {part: len(each) for part, (_, each) in parts.items()}, digest.hexdigest())


class Packed(Source):
    """What ``read`` finds in ``place``, of one of ``classes`` each (None: as many as there are numbers). Kept in memory, and read
    again by each process that needs it. ``read`` raises InputError, which names the file; it is sent to worker processes by
    pickle."""

    def __init__(
        self, read: Callable[[Path], Content], place: Path, classes: tuple[str, ...] | None = None, check: bool = True
    ) -> None:
        """Raises InputError."""
        content = read(place)
        _, height, width, channels = content.pixels.shape
        lowest, highest = int(content.labels.min()), int(content.labels.max())
        if classes is None:
            classes = tuple(map(str, range(highest + 1)))
        if lowest < 0 or highest >= len(classes):
            wrong = lowest if lowest < 0 else highest
            raise InputError(f"{place} has a class {wrong}, but there are {len(classes)} classes.", _AGAIN)
        super().__init__(
            layout="image",
            classes=classes,
            shape=(channels, height, width),
            targets=torch.from_numpy(content.labels),
            parts=number_parts(content.counts),
            notes=(f"read from {place}",),
            fingerprint=content.digest if check else "",
        )
        self._read, self._place, self._digest = read, place, content.digest
        self._pixels: NDArray[np.uint8] | None = content.pixels
        self._kept: NDArray[np.int64] | None = None

    def keep_classes(self, dataset: DatasetSection) -> None:
        """Leave out the samples of all classes but those that ``dataset`` names, if any. Raises InputError."""
        choice = choose_classes(dataset, self.classes, self.targets, self.parts)
        if choice is None:
            return
        self.classes, self.targets, self.parts = choice.names, choice.targets, choice.parts
        self.class_choices, self.notes = choice.choices, (*self.notes, choice.note)
        self.fingerprint = choice.digest(self.fingerprint)
        self._kept = choice.samples.numpy()
        if self._pixels is not None:
            self._pixels = self._pixels[self._kept]

    def read(self, indices: Tensor) -> Tensor:
        """uint8 (n, H, W, C). Raises TrainingError where the files are not what they were."""
        if self._pixels is None:
            try:
                content = self._read(self._place)
            except InputError as error:
                raise self._explain_change() from error
            if content.digest != self._digest:
                raise self._explain_change()
            self._pixels = content.pixels if self._kept is None else content.pixels[self._kept]
        return torch.from_numpy(np.ascontiguousarray(self._pixels[indices.numpy()]))

    def name(self, index: int) -> str:
        return super().name(index if self._kept is None else int(self._kept[index]))

    def _explain_change(self) -> TrainingError:
        return TrainingError(f"{self._place} was good when the run began, but has changed.", _AGAIN)

    def read_all(self) -> Tensor:
        whole = super().read_all()
        self._pixels = None
        return whole

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_pixels": None}
