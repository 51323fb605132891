"""Images that look alike, by a perceptual hash: the signs of the 64 lowest frequencies of a cosine transform about their median (Zauner,
"Implementation and Benchmarking of Perceptual Image Hash Functions", 2010). Of 64 bits that differ in 4 at most, one of five stretches is the
same in both, so only images that share a stretch are compared, not each with each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from training.data.source import ReportProgress

MOST_BITS = 4
ALIKE = 0.99
"""The least correlation of two images' small gray versions: four test images of CIFAR-10 have one like that."""
_SIDE = 32
_BANDS = (0, 13, 26, 39, 52, 64)
_MOST_IN_BAND = 256
"""Images that share a stretch with one are compared up to this number: of blank ones there may be thousands."""
_FLAT = 2.0
"""Levels of 255: an image with less contrast looks like any other."""
_AT_ONCE = 512
_MOST_KEPT = 8192
"""Small versions that stay in memory while they are compared: 2 kB each."""


def make_small(images: Tensor) -> NDArray[np.float16]:
    """(n, 1024): gray, 32 x 32, of mean 0 and std 1; zeros for one without contrast."""
    pixels = images.numpy()
    # Channel by channel: torch's mean over the last axis takes fifty times as long.
    gray = pixels[..., 0].astype(np.float32)
    for channel in range(1, pixels.shape[-1]):
        gray += pixels[..., channel]
    gray /= pixels.shape[-1]
    if gray.shape[1:] != (_SIDE, _SIDE):
        gray = functional.adaptive_avg_pool2d(torch.from_numpy(gray).unsqueeze(1), (_SIDE, _SIDE)).numpy()
    flat = gray.reshape(len(gray), -1)
    flat = flat - flat.mean(1, keepdims=True)
    std = np.sqrt(np.square(flat).mean(1, keepdims=True))
    result: NDArray[np.float16] = np.where(std < _FLAT, 0.0, flat / np.maximum(std, _FLAT)).astype(np.float16)
    return result


def _hashes(small: NDArray[np.float16]) -> NDArray[np.uint64]:
    """64 bits for each image."""
    found = small.astype(np.float32) @ _find_waves()
    bits = found > np.median(found, axis=1, keepdims=True)
    return np.packbits(bits, axis=1).view(">u8")[:, 0].astype(np.uint64)


@cache
def _find_waves() -> NDArray[np.float32]:
    """(1024, 64): what makes of a small image its lowest frequencies, without the mean."""
    steps = np.arange(_SIDE)
    cosines = np.cos(np.pi * (2 * steps[None, :] + 1) * steps[:, None] / (2 * _SIDE))
    rows, columns = np.divmod(np.arange(144), 12)
    lowest = np.lexsort((rows, rows + columns))[1:65]
    waves = cosines[rows[lowest], :, None] * cosines[columns[lowest], None, :]
    return np.ascontiguousarray(waves.reshape(64, -1).T, np.float32)


def find_alike(
    trained: int, count: int, take: Callable[[Tensor], NDArray[np.float16]], report_progress: ReportProgress
) -> list[tuple[int, int]]:
    """(held, train) places of images that look alike, the most alike one for each that is held out. ``take`` makes the small ones of
    rows, of which the first ``trained`` are trained on; of many they are made again for those whose hashes are alike, not kept."""
    hashes, flat = np.zeros(count, np.uint64), np.zeros(count, np.bool_)
    kept = np.zeros((count, _SIDE * _SIDE), np.float16) if count <= _MOST_KEPT else None
    for rows in torch.arange(count).split(_AT_ONCE):
        report_progress("checking for duplicate images", float(rows[0]) / count)
        small, where = take(rows), slice(int(rows[0]), int(rows[-1]) + 1)
        hashes[where], flat[where] = _hashes(small), ~small.any(1)
        if kept is not None:
            kept[where] = small
    best: dict[int, tuple[float, int]] = {}
    for pairs in _find_near(hashes, flat, trained):
        needed, which = np.unique(pairs, return_inverse=True)
        small = take(torch.from_numpy(needed)) if kept is None else kept[needed]
        one, other = small.astype(np.float32)[which.reshape(-1, 2).T]
        likeness = np.einsum("ij,ij->i", one, other) / (_SIDE * _SIDE)
        for (row, place), alike in zip(pairs.tolist(), likeness.tolist(), strict=True):
            if alike >= ALIKE and alike > best.get(row, (0.0, 0))[0]:
                best[row] = alike, place
    return [(row - trained, place) for row, (_, place) in sorted(best.items())]


def _find_near(hashes: NDArray[np.uint64], flat: NDArray[np.bool_], trained: int) -> Iterator[NDArray[np.int64]]:
    """(n, 2) rows, held out and trained on, whose hashes differ in few bits, some hundred at once; the same two may come again."""
    train, held = hashes[:trained], hashes[trained:]
    waiting: list[NDArray[np.int64]] = []
    count = 0
    for low, high in pairwise(_BANDS):
        mask = np.uint64((1 << (high - low)) - 1)
        bands = (train >> np.uint64(low)) & mask
        order = np.argsort(bands, kind="stable")
        order = order[~flat[:trained][order]]
        sorted_bands = bands[order]
        wanted = (held >> np.uint64(low)) & mask
        begins = np.searchsorted(sorted_bands, wanted)
        ends = np.minimum(np.searchsorted(sorted_bands, wanted, side="right"), begins + _MOST_IN_BAND)
        for row in np.flatnonzero((ends > begins) & ~flat[trained:]).tolist():
            places = order[begins[row] : ends[row]]
            near = places[np.bitwise_count(train[places] ^ held[row]) <= MOST_BITS]
            if not len(near):
                continue
            waiting.append(np.stack([np.full(len(near), trained + row), near], 1))
            count += len(near)
            if count >= _AT_ONCE:
                yield np.concatenate(waiting)
                waiting, count = [], 0
    if waiting:
        yield np.concatenate(waiting)
