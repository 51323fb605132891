"""Min/max decimation of a growing series: what a curve of any length looks like at the width of a screen.

For each bucket of 64, 128, 256, ... samples the pyramid remembers where its smallest and its largest value stand. A
view then shows these samples instead of all, so that one wild value among millions still reaches the screen, and a
refresh costs the same at a thousand and at five million points. Only full buckets are kept: appending never touches what
is there, and cutting the end off is counting.
"""

import math
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Number = TypeVar("Number", np.float64, np.int64)

_FINEST = 64  # samples in a bucket of the lowest level; smaller ones cost memory and save nothing


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


class MinMaxPyramid:
    """An append-only series (x not falling) that can be looked at at any resolution.

    y may hold NaN or infinity: such samples are gaps. A gap as wide as a bucket stays a gap in every view; a narrower
    one cannot be seen at that resolution and never hides a value beside it.
    """

    def __init__(self) -> None:
        self._x = GrowingArray(np.float64)
        self._y = GrowingArray(np.float64)
        # levels[k]: for each full bucket of 64 * 2^k samples, the index of its smallest and of its largest value
        self._lowest: list[GrowingArray[np.int64]] = []
        self._highest: list[GrowingArray[np.int64]] = []

    def __len__(self) -> int:
        return self._x.size

    @property
    def x(self) -> Floats:
        """All positions."""
        return self._x.values

    @property
    def y(self) -> Floats:
        """All values; what was infinite is NaN."""
        return self._y.values

    def append(self, x: ArrayLike, y: ArrayLike) -> None:
        """Add samples at the end: numbers, or sequences of one length. Raises ValueError when x falls."""
        xs = np.atleast_1d(np.asarray(x, dtype=np.float64))
        ys = np.atleast_1d(np.asarray(y, dtype=np.float64))
        if xs.shape != ys.shape or xs.ndim != 1:
            raise ValueError(f"x and y must be sequences of one length, not {xs.shape} and {ys.shape}")
        if len(xs) == 0:
            return
        before = self._x.values[-1] if self._x.size else xs[0]
        if not np.isfinite(xs).all() or xs[0] < before or (np.diff(xs) < 0).any():
            raise ValueError(f"x must not fall (it stands at {before:g}); cut the series with truncate() first")
        self._x.extend(xs)
        self._y.extend(np.where(np.isfinite(ys), ys, np.nan))
        self._grow_levels()

    def truncate(self, x: float) -> None:
        """Drop all samples beyond `x`: a resumed run goes on from there."""
        self._cut(int(np.searchsorted(self.x, x, side="right")))

    def clear(self) -> None:
        """Drop all samples."""
        self._cut(0)

    def view(self, x0: float, x1: float, pixels: int) -> tuple[Floats, Floats]:
        """At most about 2 * `pixels` of the samples in [x0, x1], with one more at each side so that lines leave the view.

        Every one returned is a real sample. Of each bucket, one or two pixels wide, the smallest and the largest value
        are among them.
        """
        first = max(int(np.searchsorted(self.x, x0, side="left")) - 1, 0)
        last = min(int(np.searchsorted(self.x, x1, side="right")) + 1, len(self))
        kept = self._select(first, last, max(pixels, 1))
        if kept is None:
            return self.x[first:last].copy(), self.y[first:last].copy()
        return self.x[kept], self.y[kept]

    def _select(self, first: int, last: int, pixels: int) -> Indices | None:
        """Indices to show of [first, last); None for all of them."""
        span = last - first
        if span <= 2 * pixels:
            return None
        if span < pixels * _FINEST:
            return self._select_unaided(first, last, pixels)
        level = math.ceil(math.log2(span / (pixels * _FINEST)))  # the finest with no more buckets than pixels
        level = min(level, len(self._lowest) - 1)
        width = _FINEST << level
        start, stop = -(-first // width), min(last // width, self._lowest[level].size)
        if stop <= start:
            return self._select_unaided(first, last, pixels)
        fringes = [self._extremes(first, start * width), self._extremes(stop * width, last)]
        low = self._lowest[level].values[start:stop]
        high = self._highest[level].values[start:stop]
        return _in_order(np.concatenate([[first, last - 1], *fringes, low, high]))

    def _select_unaided(self, first: int, last: int, pixels: int) -> Indices:
        """For spans too short for the buckets: min and max of groups of a few samples each."""
        width = -(-(last - first) // pixels)
        groups = (last - first) // width
        stop = first + groups * width
        low, high = _extremes_of_rows(self.y[first:stop].reshape(groups, width))
        offsets = first + np.arange(groups) * width
        ends = [[first, last - 1], self._extremes(stop, last)]
        return _in_order(np.concatenate([*ends, offsets + low, offsets + high]))

    def _extremes(self, first: int, last: int) -> Indices:
        if last <= first:
            return np.empty(0, dtype=np.int64)
        low, high = _extremes_of_rows(self.y[None, first:last])
        return first + np.concatenate([low, high])

    def _grow_levels(self) -> None:
        level = 0
        while (full := len(self) // (_FINEST << level)) > 0:
            if level == len(self._lowest):
                self._lowest.append(GrowingArray(np.int64))
                self._highest.append(GrowingArray(np.int64))
            done = self._lowest[level].size
            if full == done:
                return  # nothing new here, so nothing new above
            low, high = self._new_buckets(level, done, full)
            self._lowest[level].extend(low)
            self._highest[level].extend(high)
            level += 1

    def _new_buckets(self, level: int, done: int, full: int) -> tuple[Indices, Indices]:
        if level == 0:
            low, high = _extremes_of_rows(self.y[done * _FINEST : full * _FINEST].reshape(-1, _FINEST))
            offsets = np.arange(done, full) * _FINEST
            return offsets + low, offsets + high
        below = slice(2 * done, 2 * full)
        lows = self._lowest[level - 1].values[below].reshape(-1, 2)
        highs = self._highest[level - 1].values[below].reshape(-1, 2)
        rows = np.arange(len(lows))
        low, _ = _extremes_of_rows(self.y[lows])
        _, high = _extremes_of_rows(self.y[highs])
        return lows[rows, low], highs[rows, high]

    def _cut(self, size: int) -> None:
        self._x.cut(size)
        self._y.cut(size)
        for level, (lowest, highest) in enumerate(zip(self._lowest, self._highest, strict=True)):
            lowest.cut(size // (_FINEST << level))
            highest.cut(size // (_FINEST << level))
        while self._lowest and self._lowest[-1].size == 0:
            self._lowest.pop()
            self._highest.pop()


def _in_order(indices: Indices) -> Indices:
    """Each of them once; np.unique takes twice as long for a thousand."""
    indices.sort()
    return indices[np.diff(indices, prepend=-1) > 0]


def _extremes_of_rows(rows: Floats) -> tuple[Indices, Indices]:
    """Where the smallest and the largest value of each row stand; gaps are passed over, a row of gaps gives 0."""
    gaps = np.isnan(rows)
    if not gaps.any():
        return rows.argmin(axis=1), rows.argmax(axis=1)
    return np.where(gaps, np.inf, rows).argmin(axis=1), np.where(gaps, -np.inf, rows).argmax(axis=1)
