"""Zero mean and unit spread for the model's inputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from training.data.source import Layout

_MOST_SAMPLES = 8192
_LEAST_SAMPLES = 1024
_MOST_VALUES = 1 << 28
_AT_ONCE = 512
_LONG_ROW = 4096
_SMALLEST_STD = 1 / 255


@dataclass(frozen=True)
class Normalisation:
    """``(x - mean) / std`` per channel, pictures first brought from 0..255 to 0..1; per feature for vectors."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    layout: Layout = "image"

    def apply(self, inputs: Tensor) -> Tensor:
        """float32 of pictures (B, C, H, W), uint8 or float32 on the scale of 0 to 255, or of vectors (B, F)."""
        scale, shift = _constants(self, 1, inputs.device)
        shape = (1, -1, *[1] * (inputs.ndim - 2))
        return inputs.to(torch.float32, copy=True).mul_(scale.view(shape)).add_(shift.view(shape))

    def apply_pixels(self, pictures: Tensor) -> Tensor:
        """The same bits for contiguous pictures (B, H, W, C), several times faster: long rows instead of single pixels."""
        _, height, width, channels = pictures.shape
        repeats = height * width if height * width * channels <= _LONG_ROW else width
        scale, shift = _constants(self, repeats, pictures.device)
        rows = pictures.to(torch.float32, copy=True).view(-1, repeats * channels)
        return rows.mul_(scale).add_(shift).view(pictures.shape)


@lru_cache(maxsize=16)
def _constants(normalisation: Normalisation, repeats: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Factor and summand for each channel, ``repeats`` times one after another."""
    full = 255.0 if normalisation.layout == "image" else 1.0
    scale = [1 / (std * full) for std in normalisation.std]
    shift = [-mean / std for mean, std in zip(normalisation.mean, normalisation.std, strict=True)]
    with torch.inference_mode(False):  # they outlive the validation that may ask for them first
        return (
            torch.tensor(scale * repeats, dtype=torch.float32, device=device),
            torch.tensor(shift * repeats, dtype=torch.float32, device=device),
        )


def measure(read: Callable[[Tensor], Tensor], train: Tensor, shape: tuple[int, ...]) -> Normalisation:
    """Mean and spread of the training samples ``train`` (int64 sample numbers), read by ``read`` as a Source does.

    At most 8,192 samples, evenly spaced, are looked at; fewer of large pictures. Pictures are summed in whole numbers and
    vectors one after the other, so the result does not depend on threads, device or how batches are prepared.
    """
    most = min(_MOST_SAMPLES, max(_LEAST_SAMPLES, _MOST_VALUES // math.prod(shape)))
    count = min(len(train), most)
    some = train[torch.arange(count) * len(train) // count]
    if len(shape) == 1:
        return _measure_vectors(read(some))
    return _measure_pictures(read, some, shape[0])


def _measure_pictures(read: Callable[[Tensor], Tensor], some: Tensor, channels: int) -> Normalisation:
    total, squares = torch.zeros(2, channels, dtype=torch.int64)
    pixels = 0
    for indices in some.split(_AT_ONCE):
        values = read(indices).to(torch.int32).flatten(1)
        total += values.sum(0, dtype=torch.int64).view(-1, channels).sum(0)
        squares += (values * values).sum(0, dtype=torch.int64).view(-1, channels).sum(0)
        pixels += values.numel() // channels
    mean, std = [], []
    for first, second in zip(total.tolist(), squares.tolist(), strict=True):
        mean.append(first / (255 * pixels))
        # Python's whole numbers: exact, so nothing cancels.
        std.append(max(math.sqrt((pixels * second - first * first) / pixels**2) / 255, _SMALLEST_STD))
    return Normalisation(tuple(mean), tuple(std))


def _measure_vectors(values: Tensor) -> Normalisation:
    features = values.numpy().astype(np.float64)
    mean = features.mean(axis=0)
    std = features.std(axis=0)
    # A feature that never changes tells nothing; it becomes 0 instead of a division by 0.
    std[std <= 1e-6 * np.maximum(1e-6, np.abs(mean))] = 1.0
    return Normalisation(tuple(mean.tolist()), tuple(std.tolist()), "vector")
