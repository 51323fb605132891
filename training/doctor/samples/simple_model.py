"""A cheap model of the training samples, for what it tells of them: ridge regression on random features, held out fold by fold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

Floats = NDArray[np.float32]

_FOLDS = 4
_RANDOM = 384
"""Random features: max(0, a random direction of the inputs + a random offset)."""
_SIDE = 12
"""Images are looked at in so many pixels either way."""
_MOST_NUMBERS = 512
_RIDGE = 0.01
"""Of the number of samples."""


@dataclass(frozen=True, eq=False)
class SimpleModel:
    """What ridge regression learns of ``inputs`` (n, numbers) float64 and ``targets`` (n, outputs): one model for each fold, made without
    it. ``fold`` says which fold each sample is in."""

    inputs: Floats
    targets: Floats
    seed: int = 0
    bends: bool = True
    """Whether there are random features beside the inputs themselves."""

    @cached_property
    def held_out(self) -> Floats:
        """(n, outputs): of each sample by the model that did not see it."""
        answers = np.zeros(self.targets.shape, np.float32)
        for fold, weights in enumerate(self._weights):
            mine = self._fold == fold
            answers[mine] = self._features(self.inputs[mine]) @ weights
        return answers

    def answer_like_held_out(self, inputs: Floats) -> Floats:
        """(n, outputs): of changed ``inputs``, each by the model that did not see the sample."""
        answers = np.zeros(self.targets.shape, np.float32)
        for fold, weights in enumerate(self._weights):
            mine = self._fold == fold
            answers[mine] = self._features(inputs[mine]) @ weights
        return answers

    def answer(self, inputs: Floats) -> Floats:
        """(m, outputs): of other samples, the mean of all folds' models."""
        weights = np.mean(self._weights, axis=0)
        answers: Floats = self._features(inputs) @ weights
        return answers

    @cached_property
    def _fold(self) -> NDArray[np.int64]:
        return np.random.default_rng(self.seed).permutation(len(self.inputs)) % _FOLDS

    @cached_property
    def _scale(self) -> tuple[Floats, Floats]:
        std = self.inputs.std(0)
        return self.inputs.mean(0), np.where(std > 1e-9, std, 1.0)

    @cached_property
    def _directions(self) -> tuple[Floats, Floats]:
        numbers = np.random.default_rng(self.seed + 1)
        width = self.inputs.shape[1]
        directions = numbers.standard_normal((width, _RANDOM), np.float32) * np.float32(1.5 / math.sqrt(width))
        return directions, numbers.standard_normal(_RANDOM, np.float32)

    def _features(self, inputs: Floats) -> Floats:
        mean, std = self._scale
        scaled = np.clip((inputs - mean) / std, -5.0, 5.0)
        if not self.bends:
            return np.concatenate([scaled, np.ones((len(inputs), 1))], 1, dtype=np.float32)
        directions, offsets = self._directions
        made = np.maximum(scaled @ directions + offsets, 0.0)
        return np.concatenate([scaled, made, np.ones((len(inputs), 1))], 1, dtype=np.float32)

    @cached_property
    def _weights(self) -> list[Floats]:
        features = self._features(self.inputs)
        parts = [self._fold == fold for fold in range(_FOLDS)]
        squares = [features[part].T @ features[part] for part in parts]
        products = [features[part].T @ self.targets[part] for part in parts]
        every, whole = sum(squares), sum(products)
        ridge = _RIDGE * len(self.inputs) * np.eye(features.shape[1], dtype=np.float32)
        return [
            np.linalg.solve(every - square + ridge, whole - product)
            for square, product in zip(squares, products, strict=True)
        ]


def shrink_images(images: Tensor) -> Floats:
    """(n, H, W, C) as (n, numbers), from 0 to 1: few pixels, of many channels their mean."""
    pixels = images.permute(0, 3, 1, 2).float() / 255.0
    side = _SIDE if pixels.shape[1] <= 3 else 8
    if pixels.shape[1] * side * side > _MOST_NUMBERS:
        pixels = pixels.mean(1, keepdim=True)
    small: Floats = functional.adaptive_avg_pool2d(pixels, (side, side)).flatten(1).double().numpy()
    return small
