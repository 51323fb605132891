"""Min/max decimation of a growing series.

For each bucket of 64, 128, 256, ... values the levels remember its smallest and its largest, and where they stand. A view then
shows these instead of all, so that one wild value among millions still reaches the screen, and a drawing costs the same at a
thousand and at five million points. Only full buckets are kept: growing never touches what is there, and cutting the end off is
counting.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Read = Callable[[int, int], NDArray[Any]]
"""Gives the values [first, stop) of a series; what is not finite is a gap."""
Number = TypeVar("Number", np.float64, np.int64)

BUCKET = 64
"""Values in a bucket of the lowest level; smaller ones cost memory and save nothing."""
AT_ONCE = 4096
"""Buckets whose values are in memory together."""


class GrowingArray(Generic[Number]):
    """A one-dimensional array that doubles its room when full, so that appending costs the same on average."""

    def __init__(self, dtype: type[Number]) -> None:
        self._room: NDArray[Number] = np.empty(256, dtype=dtype)
        self.size = 0

    def extend(self, values: NDArray[Number]) -> None:
        """Append copies of `values`."""
        needed = self.size + len(values)
        if needed > len(self._room):
            grown = np.empty(max(needed, 2 * len(self._room)), dtype=self._room.dtype)
            grown[: self.size] = self._room[: self.size]
            self._room = grown
        self._room[self.size : needed] = values
        self.size = needed

    def cut(self, size: int) -> None:
        """Keep the first `size` values."""
        self.size = min(self.size, size)

    @property
    def values(self) -> NDArray[Number]:
        """What is in it; a view, valid until the next `extend`."""
        return self._room[: self.size]


class Extremes(NamedTuple):
    """Of each bucket its smallest and its largest value, and their indices in the series. Of a bucket of gaps the values are NaN."""

    low: Floats
    high: Floats
    low_at: Indices
    high_at: Indices

    def shift(self, start: Indices | int) -> Extremes:
        """The same, with indices that count from so far before."""
        return self._replace(low_at=self.low_at + start, high_at=self.high_at + start)


def find_extremes(rows: NDArray[Any]) -> Extremes:
    """Of each row, (rows, width); indices count from the row's start. Gaps are passed over; of a row of them it is the first."""
    gaps = ~np.isfinite(rows)
    if gaps.any():
        low_at, high_at = np.where(gaps, np.inf, rows).argmin(axis=1), np.where(gaps, -np.inf, rows).argmax(axis=1)
        rows = np.where(gaps, np.nan, rows)
    else:
        low_at, high_at = rows.argmin(axis=1), rows.argmax(axis=1)
    each = np.arange(len(rows))
    return Extremes(rows[each, low_at].astype(np.float64), rows[each, high_at].astype(np.float64), low_at, high_at)


class _Level:
    """The buckets of one width."""

    def __init__(self) -> None:
        self._low, self._high = GrowingArray(np.float64), GrowingArray(np.float64)
        self._low_at, self._high_at = GrowingArray(np.int64), GrowingArray(np.int64)

    @property
    def size(self) -> int:
        return self._low.size

    def extend(self, found: Extremes) -> None:
        for kept, new in zip((self._low, self._high), (found.low, found.high), strict=True):
            kept.extend(new)
        for kept_at, new_at in zip((self._low_at, self._high_at), (found.low_at, found.high_at), strict=True):
            kept_at.extend(new_at)

    def cut(self, size: int) -> None:
        for kept in (self._low, self._high):
            kept.cut(size)
        for kept_at in (self._low_at, self._high_at):
            kept_at.cut(size)

    def slice(self, first: int, stop: int) -> Extremes:
        low, high = (each.values[first:stop] for each in (self._low, self._high))
        low_at, high_at = (each.values[first:stop] for each in (self._low_at, self._high_at))
        return Extremes(low, high, low_at, high_at)


class Levels:
    """Of all full buckets of a series the extremes. It holds no values itself: whoever asks brings a `Read` of them along."""

    def __init__(self) -> None:
        self._levels: list[_Level] = []

    @property
    def buckets(self) -> int:
        """Full buckets of the lowest level."""
        return self._levels[0].size if self._levels else 0

    def lowest(self) -> Extremes:
        """The buckets of the lowest level; views."""
        return (self._levels[0] if self._levels else _Level()).slice(0, self.buckets)

    def grow(self, read: Read, size: int) -> None:
        """Take up what the series of now ``size`` values has grown by."""
        while (done := self.buckets) < size // BUCKET:
            stop = min(size // BUCKET, done + AT_ONCE)
            found = find_extremes(read(done * BUCKET, stop * BUCKET).reshape(-1, BUCKET))
            self.adopt(found.shift(np.arange(done, stop) * BUCKET))

    def adopt(self, found: Extremes) -> None:
        """Take up buckets of the lowest level that somebody else has measured."""
        level = 0
        while len(found.low):
            if level == len(self._levels):
                self._levels.append(_Level())
            self._levels[level].extend(found)
            done = self._levels[level + 1].size if level + 1 < len(self._levels) else 0
            below = self._levels[level].slice(2 * done, self._levels[level].size // 2 * 2)
            found, level = _join_pairs(below), level + 1

    def cut(self, size: int) -> None:
        """Keep what lies in the first ``size`` values."""
        for level, kept in enumerate(self._levels):
            kept.cut(size // (BUCKET << level))
        while self._levels and self._levels[-1].size == 0:
            self._levels.pop()

    def select(self, read: Read, first: int, stop: int, pixels: int) -> tuple[Indices, Floats]:
        """Which of the values [first, stop) to show, rising, and the values: all where there are no more than 2 for each pixel, else
        the first, the last, and of each stretch of one or two pixels the smallest and the largest."""
        span = stop - first
        if span <= 2 * pixels:
            return np.arange(first, stop), _finite(read(first, stop))
        if span < pixels * BUCKET:
            return self._select_unaided(read, first, stop, pixels)
        level = math.ceil(math.log2(span / (pixels * BUCKET)))  # the finest with no more buckets than pixels
        level = min(level, len(self._levels) - 1)
        width = BUCKET << level
        begin, end = (-(-first // width), min(stop // width, self._levels[level].size)) if level >= 0 else (0, 0)
        if end <= begin:
            return self._select_unaided(read, first, stop, pixels)
        inside = self._levels[level].slice(begin, end)
        before = _fringe(read, first, max(begin * width, first + 1), first)
        return _in_order([*before, inside, *_fringe(read, min(end * width, stop - 1), stop, stop - 1)])

    @staticmethod
    def _select_unaided(read: Read, first: int, stop: int, pixels: int) -> tuple[Indices, Floats]:
        """For spans too short for the buckets: smallest and largest of groups of a few values each."""
        values = _finite(read(first, stop))
        width = -(-len(values) // pixels)
        groups = len(values) // width
        found = find_extremes(values[: groups * width].reshape(groups, width)).shift(first + np.arange(groups) * width)

        def give(begin: int, end: int) -> NDArray[Any]:
            return values[begin - first : end - first]

        rest = min(first + groups * width, stop - 1)
        return _in_order([*_fringe(give, first, first + 1, first), found, *_fringe(give, rest, stop, stop - 1)])


def _finite(values: NDArray[Any]) -> Floats:
    values = values.astype(np.float64)
    values[~np.isfinite(values)] = np.nan
    return values


def _join_pairs(below: Extremes) -> Extremes:
    """The buckets of twice the width."""
    (low, other_low), (high, other_high) = ((each[0::2], each[1::2]) for each in below[:2])
    (low_at, other_low_at), (high_at, other_high_at) = ((each[0::2], each[1::2]) for each in below[2:])
    lower, higher = (other_low < low) | np.isnan(low), (other_high > high) | np.isnan(high)
    lows = np.where(lower, other_low, low), np.where(lower, other_low_at, low_at)
    highs = np.where(higher, other_high, high), np.where(higher, other_high_at, high_at)
    return Extremes(lows[0], highs[0], lows[1], highs[1])


def _fringe(read: Read, first: int, stop: int, end: int) -> list[Extremes]:
    """Of the values [first, stop), which are less than a bucket, the extremes; and the value at ``end``, one of them."""
    values = _finite(read(first, stop))
    last, at = values[end - first : end - first + 1], np.array([end])
    return [find_extremes(values[None, :]).shift(first), Extremes(last, last, at, at)]


def _in_order(parts: list[Extremes]) -> tuple[Indices, Floats]:
    """Each of them once; np.unique takes twice as long for a thousand."""
    indices = np.concatenate([each for part in parts for each in (part.low_at, part.high_at)])
    values = np.concatenate([each for part in parts for each in (part.low, part.high)])
    order = np.argsort(indices, kind="stable")
    indices, values = indices[order], values[order]
    once = np.diff(indices, prepend=-1) > 0
    return indices[once], values[once]
