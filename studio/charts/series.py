"""One curve's samples: as they came, and smoothed. No Qt."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from training.runs.pyramid.curve import MinMaxPyramid, Pyramid
from training.runs.pyramid.smoothing import Smoother, make_smoother

Floats = NDArray[np.float64]


class Series:
    """Keeps the raw samples and, while smoothing is on, their average beside them, both ready to be looked at."""

    def __init__(self, *, may_be_smoothed: bool = True) -> None:
        self._may_be_smoothed = may_be_smoothed
        self.raw: Pyramid = MinMaxPyramid()  # the samples as they came
        self._smoother: Smoother | None = None

    def __len__(self) -> int:
        return len(self.raw)

    @property
    def extent(self) -> tuple[float, float] | None:
        """Its first and its last position; None while it is empty."""
        x = self.raw.x
        return (float(x[0]), float(x[-1])) if len(x) else None

    @property
    def is_smoothed(self) -> bool:
        """Whether there is a smoothed line."""
        return self._smoother is not None

    def append(self, x: ArrayLike, y: ArrayLike) -> None:
        """Add samples at the end; raises ValueError when x falls."""
        self._memory().append(x, y)
        if self._smoother is not None:
            self._smoother.grow(self.raw)

    def show(self, curve: Pyramid, smoother: Smoother | None = None) -> None:
        """Draw ``curve`` from now on, which is kept elsewhere, with the line that ``smoother`` has made of all of it."""
        self.raw, self._smoother = curve, smoother if self._may_be_smoothed else None

    def truncate(self, x: float) -> None:
        """Drop all samples beyond `x`."""
        self._memory().truncate(x)
        if self._smoother is not None:
            self._smoother.cut(len(self.raw))

    def clear(self) -> None:
        """Drop all samples."""
        if isinstance(self.raw, MinMaxPyramid):
            self.raw.clear()
        else:  # it is somebody else's
            self.raw = MinMaxPyramid()
        if self._smoother is not None:
            self._smoother.cut(0)

    def set_smoothing(self, weight: float) -> None:
        """Average with this weight from the first sample on; 0 turns it off."""
        self._smoother = make_smoother(weight) if self._may_be_smoothed else None
        if self._smoother is not None:
            self._smoother.grow(self.raw)

    def smooth_view(self, x0: float, x1: float, points: int) -> tuple[Floats, Floats] | None:
        """At most about `points` + 2 samples of the smoothed line between x0 and x1; None while there is none."""
        return self._smoother.view(self.raw, x0, x1, points) if self._smoother is not None else None

    def nearest(self, x: float, *, smoothed: bool = False) -> tuple[float, float] | None:
        """The sample whose position is closest to `x`, as it came or on the smoothed line where there is one."""
        if len(self.raw) == 0:
            return None
        at = self.raw.find_nearest(x)
        if smoothed and self._smoother is not None:
            value = self._smoother.compute(self.raw, at, at + 1)[0]
        else:
            value = self.raw.read(at, at + 1)[0]
        return float(self.raw.x[at]), float(value)

    def _memory(self) -> MinMaxPyramid:
        if not isinstance(self.raw, MinMaxPyramid):
            raise TypeError("a curve that is kept elsewhere grows there")
        return self.raw
