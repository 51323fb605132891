"""Zero mean and unit spread for the model's inputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.core.normalization import normalize, scale_and_shift
from training.core.splits import pick_evenly
from training.errors import NonFiniteError
from training.facts import DataFacts, Layout
from training.system.untrusted import escape_unprintable

_MOST_SAMPLES = 8192
_LEAST_SAMPLES = 1024
_MOST_VALUES = 1 << 28
_AT_ONCE = 512
_ROWS_AT_ONCE = 8192
_SMALLEST_STD = 1 / 255
_LONG_ROW = 4096


@dataclass(frozen=True)
class Normalization:
    """``(x - mean) / std`` per channel, images first brought from 0..255 to 0..1; per feature for vectors and lists. Tokens
    stay as they are. ``missing`` says that NaN stands for a number that is not known: it becomes the mean."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    layout: Layout = "image"
    missing: bool = False

    def apply(self, inputs: Tensor) -> Tensor:
        """float32 of images (B, C, H, W), uint8 or float32 on the scale of 0 to 255, of vectors (B, F) or lists (B, L, F);
        int64 of tokens (B, T)."""
        if self.layout == "tokens":
            return inputs.long()
        if self.layout == "image":
            pixels = self.apply_pixels(inputs.permute(0, 2, 3, 1))
            return torch.empty_like(inputs, dtype=torch.float32).copy_(pixels.permute(0, 3, 1, 2))
        made = normalize(inputs, _repeat_scale_and_shift(self.mean, self.std, 1.0, 1, inputs.device))
        return made.masked_fill_(made.isnan(), 0.0) if self.missing else made

    def apply_pixels(self, images: Tensor) -> Tensor:
        """The same bits for contiguous images (B, H, W, C), by long rows instead of single pixels: several times faster."""
        _, height, width, channels = images.shape
        repeats = height * width if height * width * channels <= _LONG_ROW else width
        by = _repeat_scale_and_shift(self.mean, self.std, 255.0, repeats, images.device)
        return normalize(images.contiguous().view(-1, repeats * channels), by).view(images.shape)


@lru_cache(maxsize=16)
def _repeat_scale_and_shift(
    mean: tuple[float, ...], std: tuple[float, ...], full: float, repeats: int, device: torch.device
) -> Tensor:
    with torch.inference_mode(False):  # they outlive the validation that may ask for them first
        return scale_and_shift(mean, std, full).repeat(1, repeats).to(device)


def measure(read: Callable[[Tensor], Tensor], train: Tensor, facts: DataFacts, gaps: bool = False) -> Normalization:
    """Mean and spread of the training samples ``train`` (int64 sample numbers), read by ``read`` as a Source does. The codes
    of categories and tokens are no amounts: they stay what they are.

    All vectors and lists are looked at; of images at most 8,192, evenly spaced, and fewer large ones. Images are summed in
    whole numbers and vectors one after the other, so the result does not depend on threads, device or how batches are
    prepared. ``gaps`` says that NaN is among the samples, even where it is in none of ``train``.

    Raises InputError when a feature's mean or spread is no finite number.
    """
    shape = facts.shape
    if facts.layout == "tokens":
        return Normalization((), (), "tokens")
    if facts.layout != "image":
        return _measure_vectors(read, train, facts, gaps)
    most = min(_MOST_SAMPLES, max(_LEAST_SAMPLES, _MOST_VALUES // math.prod(shape)))
    return _measure_images(read, pick_evenly(train, most), shape[0], masked=facts.target == "mask")


def leave(facts: DataFacts) -> Normalization:
    """What leaves inputs as they are, but for images from 0 to 255, which come to 0 to 1."""
    numbers = 0 if facts.layout == "tokens" else facts.shape[0 if facts.layout == "image" else -1]
    return Normalization((0.0,) * numbers, (1.0,) * numbers, facts.layout)


def find_ranges(
    read: Callable[[Tensor], Tensor], train: Tensor, facts: DataFacts
) -> tuple[tuple[float, float] | None, ...]:
    """As ``DataFacts.ranges``, of vectors and lists of up to 4,096 numbers; None of a number that no sample of ``train`` has."""
    if facts.layout not in ("vector", "list") or len(facts.shape) > 2 or facts.shape[-1] > _LONG_ROW:
        return ()
    low, high = np.full(facts.shape[-1], np.inf), np.full(facts.shape[-1], -np.inf)
    for features in _numbers(read, train):
        low = np.fmin(low, np.fmin.reduce(features, axis=0))
        high = np.fmax(high, np.fmax.reduce(features, axis=0))
    coded = facts.categories or (0,) * facts.shape[-1]
    spans = zip(low.tolist(), high.tolist(), coded, strict=True)
    return tuple(None if codes or first > last else (first, last) for first, last, codes in spans)


def _measure_images(read: Callable[[Tensor], Tensor], some: Tensor, channels: int, masked: bool) -> Normalization:
    total, squares = torch.zeros(2, channels, dtype=torch.int64)
    pixels = 0
    sums: list[NDArray[np.float64]] = []
    for indices in some.split(_AT_ONCE):
        images = read(indices)
        images = images[..., :-1] if masked else images
        if images.is_floating_point():
            sums.append(_sum_floats(images, channels))
            pixels += images.numel() // channels
            continue
        values = images.to(torch.int32).flatten(1)
        total += values.sum(0, dtype=torch.int64).view(-1, channels).sum(0)
        squares += (values * values).sum(0, dtype=torch.int64).view(-1, channels).sum(0)
        pixels += values.numel() // channels
    if sums:
        return _from_float_sums(sums, pixels)
    mean, std = [], []
    for first, second in zip(total.tolist(), squares.tolist(), strict=True):
        mean.append(first / (255 * pixels))
        # Python's whole numbers: exact, so nothing cancels.
        std.append(max(math.sqrt((pixels * second - first * first) / pixels**2) / 255, _SMALLEST_STD))
    return Normalization(tuple(mean), tuple(std))


def _sum_floats(images: Tensor, channels: int) -> NDArray[np.float64]:
    """(2, channels): the sums of the pixels as 0 to 1, and of their squares, added by NumPy in one thread."""
    values = images.numpy().astype(np.float64).reshape(-1, channels) / 255
    return np.stack([values.sum(axis=0), (values * values).sum(axis=0)])


def _from_float_sums(sums: list[NDArray[np.float64]], pixels: int) -> Normalization:
    first, second = np.sum(sums, axis=0) / pixels
    spread = np.sqrt(np.maximum(second - first * first, 0.0))
    return Normalization(tuple(first.tolist()), tuple(np.maximum(spread, _SMALLEST_STD).tolist()))


def _measure_vectors(read: Callable[[Tensor], Tensor], train: Tensor, facts: DataFacts, gaps: bool) -> Normalization:
    mean, std, missing = _mean_and_std(read, train)
    _require_finite(mean, std, facts.columns)
    # A feature that never changes tells nothing; it becomes 0 instead of a division by 0.
    std[std <= 1e-6 * np.maximum(1e-6, np.abs(mean))] = 1.0
    if facts.categories:
        coded = np.array(facts.categories) > 0
        mean[coded], std[coded] = 0.0, 1.0
    # Samples that are not trained on may have gaps, too, and rows that come later: of columns with names, NaN is always a gap.
    missing = missing or gaps or bool(facts.columns)
    return Normalization(tuple(mean.tolist()), tuple(std.tolist()), facts.layout, missing)


def _mean_and_std(
    read: Callable[[Tensor], Tensor], train: Tensor
) -> tuple[NDArray[np.float64], NDArray[np.float64], bool]:
    """Of the numbers that are there, 0 and 0 where a feature has none; and whether any is missing. In two passes: the square of
    a large mean would leave nothing of a small spread."""
    total, counts = np.zeros((), np.float64), np.zeros((), np.int64)
    size = 0
    with np.errstate(invalid="ignore"):  # an infinite number minus itself
        for features in _numbers(read, train):
            known = ~np.isnan(features)
            total = total + np.where(known, features, 0.0).sum(axis=0)
            counts = counts + known.sum(axis=0)
            size += len(features)
        there = np.maximum(counts, 1)
        mean = total / there
        squares = np.zeros_like(mean)
        for features in _numbers(read, train):
            spread = np.where(np.isnan(features), 0.0, features - mean)
            squares += (spread * spread).sum(axis=0)
        return mean, np.sqrt(squares / there), bool((counts < size).any())


def _numbers(read: Callable[[Tensor], Tensor], train: Tensor) -> Iterator[NDArray[np.float64]]:
    """(n, features) at a time."""
    for indices in train.split(_ROWS_AT_ONCE):
        yield read(indices).flatten(0, -2).numpy().astype(np.float64)


def _require_finite(mean: NDArray[np.float64], std: NDArray[np.float64], columns: tuple[str, ...]) -> None:
    wrong = np.flatnonzero(~np.isfinite(mean) | ~np.isfinite(std)).tolist()
    if wrong:
        which = f"'{escape_unprintable(columns[wrong[0]], 60)}'" if columns else f"number {wrong[0] + 1}"
        raise NonFiniteError(
            f"Feature {which} of the training samples has no finite mean and std, so some value of it is infinite or too "
            "large.",
            "Correct the value, or leave its sample out.",
        )
