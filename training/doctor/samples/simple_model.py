"""A cheap model of the training samples, for what it tells of them: ridge regression on random features, held out fold by fold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
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
RIDGE, PATCH_RIDGE = 0.01, 0.1
"""Of the number of samples; the latter for what ``Patches`` tells, which is many numbers."""
_FILTERS, _PATCH, _NOISE, _SMALL, _MOST_SIDE, _AT_ONCE = 64, 5, 0.25, 16, 32, 256


@dataclass(frozen=True, eq=False)
class SimpleModel:
    """What ridge regression learns of ``inputs`` (n, numbers) float64 and ``targets`` (n, outputs): one model for each fold, made without
    it. ``fold`` says which fold each sample is in."""

    inputs: Floats
    targets: Floats
    seed: int = 0
    bends: bool = True
    """Whether there are random features beside the inputs themselves."""
    ridge: float = RIDGE
    random: int = _RANDOM
    """How many of these."""

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
        directions = numbers.standard_normal((width, self.random), np.float32) * np.float32(1.5 / math.sqrt(width))
        return directions, numbers.standard_normal(self.random, np.float32)

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
        ridge = self.ridge * len(self.inputs) * np.eye(features.shape[1], dtype=np.float32)
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


@dataclass(frozen=True, eq=False)
class Patches:
    """Where in an image there is how much of each of some ``filters`` (F, C, k, k), which are patches of images themselves: what a single
    layer of features needs to tell objects apart (Coates, Lee and Ng 2011). ``least`` of a filter's answer is noise."""

    filters: Tensor
    least: Tensor

    @classmethod
    def draw(cls, images: Tensor) -> Patches:
        """Of (n, H, W, C), the same each time; of those with the more contrast."""
        pixels = torch.cat([_prepare(some) for some in images.split(_AT_ONCE)])  # large ones never all at once
        numbers = torch.Generator().manual_seed(0)
        count, _, height, width = pixels.shape
        size = min(_PATCH, height, width)
        drawn = [
            torch.randint(most, (4 * _FILTERS,), generator=numbers).tolist()
            for most in (count, height - size + 1, width - size + 1)
        ]
        cut = torch.stack(
            [pixels[row, :, top : top + size, left : left + size] for row, top, left in zip(*drawn, strict=True)]
        )
        cut = cut - cut.mean((2, 3), keepdim=True)
        contrast = cut.flatten(1).norm(dim=1)
        chosen = contrast.argsort(descending=True)[: 2 * _FILTERS]
        chosen = chosen[torch.randperm(len(chosen), generator=numbers)[:_FILTERS]]
        filters = cut[chosen] / contrast[chosen].clamp(min=1e-6)[:, None, None, None]
        least = _NOISE * functional.conv2d(pixels[: _AT_ONCE // 2], filters).std((0, 2, 3), keepdim=True)
        return cls(filters, least[0])

    def describe(self, images: Tensor) -> Floats:
        """(n, (2 * F + C) * 9): of each filter, its opposite and each channel the mean in each ninth of (n, H, W, C)."""
        described = []
        for some in images.split(_AT_ONCE):
            pixels = _prepare(some)
            answers = functional.conv2d(pixels, self.filters, stride=2 if min(pixels.shape[2:]) > _SMALL else 1)
            both = torch.cat([answers - self.least, -answers - self.least], 1).clamp(min=0.0)
            ninths = [functional.adaptive_avg_pool2d(each, (3, 3)) for each in (both, pixels)]
            described.append(torch.cat(ninths, 1).flatten(1))
        made: Floats = torch.cat(described).numpy()
        return made


def _prepare(images: Tensor) -> Tensor:
    """(n, C, H, W) from 0 to 1, at most ``_MOST_SIDE`` either way; of many channels their mean."""
    pixels = images.permute(0, 3, 1, 2).float() / 255.0
    if pixels.shape[1] > 4:
        pixels = pixels.mean(1, keepdim=True)
    times = min(1.0, _MOST_SIDE / min(pixels.shape[2:]))
    if times == 1.0:
        return pixels
    height, width = (max(1, round(side * times)) for side in pixels.shape[2:])
    return functional.adaptive_avg_pool2d(pixels, (height, width))
