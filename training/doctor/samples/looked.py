"""``Looked``: the samples that are looked at, as the source has them and as numbers that a simple model can take."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.core.splits import pick_evenly
from training.data import Data
from training.doctor.samples.simple_model import PATCH_RIDGE, RIDGE, Floats, Patches, SimpleModel

MOST_TRAINED, MOST_HELD = 2_000, 1_000
_OF_FILES = 5
"""So many times fewer, where each image has to be decoded for it."""
_MOST_CODES = 30
"""Categories of a column that become a number each; of more the column is left out."""
_MOST_CLASSES = 200
_MOST_NUMBERS = 2_048
"""Of a vector, or of a sequence of them."""
_LEAST = 40
"""Samples of which something is said."""


@dataclass(frozen=True, eq=False)
class Looked:
    """``trained`` and ``held`` are sample numbers (int64) of the training and the validation part, ``train`` and ``validation`` these samples
    as the source has them: images (n, H, W, C), vectors (n, F)."""

    data: Data
    trained: Tensor
    held: Tensor
    train: Tensor
    validation: Tensor

    def as_numbers(self, samples: Tensor) -> Floats:
        """(n, numbers): what is to be seen where on images, columns without gaps and with their codes apart."""
        if self.is_image:
            return self._patches.describe(samples)
        return _spread_columns(samples.numpy(), self.data.facts.categories)

    @property
    def is_image(self) -> bool:
        return self.data.facts.layout == "image"

    @cached_property
    def _patches(self) -> Patches:
        return Patches.draw(self.train)

    @cached_property
    def model(self) -> SimpleModel | None:
        """What a simple model learns of the training samples; None where there is no class to learn, or are too many."""
        source = self.data.source
        classes = len(source.classes)
        if source.target != "class" or not 2 <= classes <= _MOST_CLASSES or len(self.trained) < _LEAST:
            return None
        targets = np.eye(classes, dtype=np.float32)[self.labels]
        return self.learn(targets)

    def learn(self, targets: Floats) -> SimpleModel:
        """What a simple model learns of the training samples, for ``targets`` (n, outputs)."""
        ridge = PATCH_RIDGE if self.is_image else RIDGE
        return SimpleModel(self.as_numbers(self.train), targets, bends=not self.is_image, ridge=ridge)

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """Of the training samples."""
        labels: NDArray[np.int64] = self.data.source.targets[self.trained].numpy()
        return labels

    @cached_property
    def held_labels(self) -> NDArray[np.int64]:
        """Of the validation samples."""
        labels: NDArray[np.int64] = self.data.source.targets[self.held].numpy()
        return labels


def look_at_samples(data: Data, most: int = MOST_TRAINED, most_held: int = MOST_HELD) -> Looked | None:
    """At ``most`` training samples and ``most_held`` of those held out. None of data whose samples are no images or vectors. Those that a person's own code draws are looked at as they come."""
    source, facts = data.source, data.facts
    if facts.layout not in ("image", "vector") or (
        facts.layout == "vector" and math.prod(source.shape) > _MOST_NUMBERS
    ):
        return None
    costly = source.runs_own_code or (data.report.batches.mode == "streamed" and source.reading == "files")
    few = _OF_FILES if costly else 1
    trained = pick_evenly(data.splits["train"], most // few)
    held = pick_evenly(data.splits["validation"], most_held // few)
    if len(trained) < _LEAST:
        return None
    train, validation = (_without_mask(data, data.raw(numbers)) for numbers in (trained, held))
    return Looked(data, trained, held, train, validation)


def _without_mask(data: Data, samples: Tensor) -> Tensor:
    return samples[..., :-1].contiguous() if data.facts.target == "mask" else samples


def _spread_columns(samples: NDArray[np.float32], categories: tuple[int, ...]) -> Floats:
    samples = samples.reshape(len(samples), -1)
    columns = []
    for place, column in enumerate(samples.T):
        codes = categories[place] if place < len(categories) else 0
        if codes > _MOST_CODES:
            continue
        if codes:
            columns.append(
                np.eye(codes + 1, dtype=np.float32)[np.clip(np.nan_to_num(column), 0, codes).astype(np.int64)]
            )
            continue
        known = np.isfinite(column)
        middle = float(np.median(column[known])) if known.any() else 0.0
        columns.append(np.where(known, column, middle)[:, None])
    if not columns:
        return np.zeros((len(samples), 1), np.float32)
    return np.concatenate(columns, 1, dtype=np.float32)


def turn(images: Tensor, how: str) -> Tensor:
    """Images (n, H, W, C) as an augmentation may show them: "flip", "vertical_flip", "rotation" (upside down) or "hue"."""
    match how:
        case "flip":
            return images.flip(2)
        case "vertical_flip":
            return images.flip(1)
        case "rotation":
            return torch.rot90(images, 2, (1, 2))
        case _:
            return images[..., [1, 2, 0]]
