"""A series of values over positions that can be looked at, at any resolution."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from training.runs.pyramid.levels import Floats, GrowingArray, Levels, Read


class Pyramid(ABC):
    """Positions ``x`` that do not fall, and a value at each; a value that is not finite is a gap.

    A gap as wide as a bucket stays a gap in every view; a narrower one cannot be seen at that resolution and never hides a value
    beside it.
    """

    def __init__(self) -> None:
        self.levels = Levels()

    def __len__(self) -> int:
        return len(self.x)

    @property
    @abstractmethod
    def x(self) -> Floats:
        """All positions."""

    @abstractmethod
    def read(self, first: int, stop: int) -> NDArray[Any]:
        """The values [first, stop) as they came."""

    @property
    def y(self) -> Floats:
        """All values."""
        return self.read(0, len(self)).astype(np.float64)

    def span(self, x0: float, x1: float) -> tuple[int, int]:
        """Where the samples in [x0, x1] begin and stop, with one more at each side so that lines leave the view."""
        first = max(int(np.searchsorted(self.x, x0, side="left")) - 1, 0)
        return first, min(int(np.searchsorted(self.x, x1, side="right")) + 1, len(self))

    def view(self, x0: float, x1: float, pixels: int) -> tuple[Floats, Floats]:
        """At most about 2 * `pixels` of the samples in [x0, x1], with one more at each side.

        Every one returned is a real sample. Of each bucket, one or two pixels wide, the smallest and the largest value
        are among them.
        """
        first, stop = self.span(x0, x1)
        if stop <= first:
            return np.empty(0), np.empty(0)
        kept, values = self.levels.select(self.read, first, stop, max(pixels, 1))
        return self.x[kept], values

    def find_nearest(self, x: float) -> int:
        """The index of the sample whose position is closest to `x`: of one beyond both ends (infinity) the last. -1 where there are
        none."""
        xs = self.x
        right = min(int(np.searchsorted(xs, x)), len(xs) - 1)
        left = max(right - 1, 0)
        return left if len(xs) and abs(xs[left] - x) < abs(xs[right] - x) else right


class MinMaxPyramid(Pyramid):
    """An append-only series in memory."""

    def __init__(self) -> None:
        super().__init__()
        self._x = GrowingArray(np.float64)
        self._y = GrowingArray(np.float64)

    @property
    def x(self) -> Floats:
        return self._x.values

    @property
    def y(self) -> Floats:
        """All values; what was infinite is NaN."""
        return self._y.values

    def read(self, first: int, stop: int) -> Floats:
        return self.y[first:stop]

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
        self.levels.grow(self.read, len(self))

    def truncate(self, x: float) -> None:
        """Drop all samples beyond `x`: a resumed run goes on from there."""
        self._cut(int(np.searchsorted(self.x, x, side="right")))

    def clear(self) -> None:
        """Drop all samples."""
        self._cut(0)

    def _cut(self, size: int) -> None:
        self._x.cut(size)
        self._y.cut(size)
        self.levels.cut(size)


class StoredPyramid(Pyramid):
    """A series whose values lie elsewhere, with ``levels`` that somebody may have measured already."""

    def __init__(self, x: Floats, read: Read, levels: Levels) -> None:
        """``x`` may be shared; ``levels`` may lack the last buckets, which are measured now."""
        super().__init__()
        self._x, self._read, self.levels = x, read, levels
        levels.grow(read, len(x))

    @property
    def x(self) -> Floats:
        return self._x

    def read(self, first: int, stop: int) -> NDArray[Any]:
        return self._read(first, stop)
