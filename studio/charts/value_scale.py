"""The y axis: linear or logarithmic, and which part of it is shown."""

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_SMALLEST_SPAN = 1e-300
"""Of what is drawn. A plot of less has a height of 0, or more pixels to a unit than there are numbers for."""


class ValueScale:
    """Turns values into heights in the plot, and keeps a range that is seldom changed: each new one rebuilds the axis.

    `hides_values` says whether the last `scaled` had to leave out values that have no logarithm.
    """

    def __init__(self) -> None:
        self.is_log = False
        self.hides_values = False
        self.bottom, self.top = 0.0, 1.0
        self._is_chosen = False

    def forget_range(self) -> None:
        """Choose afresh at the next `fit_to`."""
        self._is_chosen = False

    def scaled(self, xs: Floats, ys: Floats) -> tuple[Floats, Floats]:
        """The points as they are drawn; on a logarithmic axis those at 0 and below are left out."""
        if not self.is_log:
            return xs, ys
        shown = ~(ys <= 0)  # gaps stay: NaN compares false
        self.hides_values |= not bool(shown.all())
        return xs[shown], np.log10(ys[shown])

    def height(self, value: float) -> float:
        """Where a value lies, moved into the range; the bottom for one that cannot be drawn."""
        if self.is_log:
            value = math.log10(value) if value > 0 else math.nan
        return min(max(value, self.bottom), self.top) if math.isfinite(value) else self.bottom

    def near_top(self) -> float:
        """A height just below the upper edge."""
        return self.top - 0.06 * (self.top - self.bottom)

    def fit_to(self, drawn: list[Floats]) -> None:
        """Make sure that everything drawn is seen; keep the range while it all fits and fills half of it."""
        heights = np.concatenate([np.empty(0), *drawn])
        heights = heights[np.isfinite(heights)]
        if len(heights) == 0:
            return
        low, high = float(heights.min()), float(heights.max())
        span = max(high - low or abs(high) or 1.0, _SMALLEST_SPAN)
        if self._is_chosen and self.bottom <= low and high <= self.top and span > 0.5 * (self.top - self.bottom):
            return
        self._is_chosen = True
        self.bottom, self.top = low - 0.08 * span, high + 0.12 * span
