"""One curve's samples: as they came, and smoothed. No Qt."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from studio.charts.pyramid import GrowingArray, MinMaxPyramid
from studio.charts.smoothing import ExponentialAverage

Floats = NDArray[np.float64]


class Series:
    """Keeps the raw samples and, while smoothing is on, their average beside them, both ready to be looked at."""

    def __init__(self, *, may_be_smoothed: bool = True) -> None:
        self._may_be_smoothed = may_be_smoothed
        self.raw = MinMaxPyramid()  # the samples as they came
        self._smooth: GrowingArray[np.float64] | None = None
        self._average: ExponentialAverage | None = None

    def __len__(self) -> int:
        return len(self.raw)

    @property
    def extent(self) -> tuple[float, float] | None:
        """Its first and its last position; None while it is empty."""
        return (float(self.raw.x[0]), float(self.raw.x[-1])) if len(self) else None

    @property
    def is_smoothed(self) -> bool:
        """Whether there is a smoothed line."""
        return self._smooth is not None

    def append(self, x: ArrayLike, y: ArrayLike) -> None:
        """Add samples at the end; raises ValueError when x falls."""
        start = len(self.raw)
        self.raw.append(x, y)
        self._smooth_from(start)

    def truncate(self, x: float) -> None:
        """Drop all samples beyond `x`."""
        before = len(self.raw)
        self.raw.truncate(x)
        if len(self.raw) != before:
            self.set_smoothing(self._average.weight if self._average else 0.0)

    def clear(self) -> None:
        """Drop all samples."""
        self.truncate(-np.inf)

    def set_smoothing(self, weight: float) -> None:
        """Average with this weight from the first sample on; 0 turns it off."""
        weight = weight if self._may_be_smoothed else 0.0
        self._average = ExponentialAverage(weight) if weight > 0 else None
        self._smooth = GrowingArray(np.float64) if weight > 0 else None
        self._smooth_from(0)

    def smooth_view(self, x0: float, x1: float, points: int) -> tuple[Floats, Floats] | None:
        """At most about `points` + 2 samples of the smoothed line between x0 and x1; None while there is none.

        An average has no spikes to lose, so every 2^k-th sample will do: always the same ones, or the line would
        shimmer while it grows.
        """
        if self._smooth is None:
            return None
        xs, ys = self.raw.x, self._smooth.values
        first = max(int(np.searchsorted(xs, x0, side="left")) - 1, 0)
        last = min(int(np.searchsorted(xs, x1, side="right")) + 1, len(xs))
        stride = 1
        while (last - first) > points * stride:
            stride *= 2
        kept = np.arange(first - first % stride, last, stride)
        if last > first:
            kept = np.append(kept, last - 1)
        gaps = np.isnan(ys[kept])
        if stride > 1:
            # One missing sample is no gap at this resolution; only a run of them breaks the line.
            kept = kept[~gaps | np.concatenate([gaps[:1], gaps[:-1]])]
        return xs[kept], ys[kept]

    def nearest(self, x: float, *, smoothed: bool = False) -> tuple[float, float] | None:
        """The sample whose position is closest to `x`, as it came or on the smoothed line where there is one."""
        if len(self.raw) == 0:
            return None
        ys = self._smooth.values if smoothed and self._smooth is not None else self.raw.y
        xs = self.raw.x
        right = min(int(np.searchsorted(xs, x)), len(xs) - 1)
        left = max(right - 1, 0)
        at = left if abs(xs[left] - x) < abs(xs[right] - x) else right  # beyond both ends (infinity): the last one
        return float(xs[at]), float(ys[at])

    def _smooth_from(self, start: int) -> None:
        if self._average is not None and self._smooth is not None:
            self._smooth.extend(self._average.append(self.raw.y[start:]))
