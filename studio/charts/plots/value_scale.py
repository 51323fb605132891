"""The y axis: linear or logarithmic, and which part of it is shown."""

import math

import numpy as np
from numpy.typing import NDArray

from studio.charts.plots.spans import Span, clamp_span

Floats = NDArray[np.float64]

_FEWEST = 50  # samples of a noisy curve from which on its spikes can be told from the rest
_COMMON = (5.0, 95.0)  # percentiles: between them lies what most steps do
_FAR = 3.0
"""Heights of what most steps do: a curve that reaches no further beyond it is shown whole, as are slow descents."""
_SMALLEST_SPAN = 1e-300
"""Of what is drawn. A plot of less has a height of 0, or more pixels to a unit than there are numbers for."""
_NARROWEST = 1e-6  # of the values' own size: how near a person may zoom
_SMALLEST_LOG_SPAN = 0.012  # decades: the numbers beside an axis of less have too many digits for the room there


class ValueScale:
    """Turns values into heights in the plot, and keeps a range that is seldom changed: each new one rebuilds the axis.

    Single spikes of noisy curves, the first steps among them, lie beyond the range until `shows_spikes`: one of them
    would press all other steps flat. A logarithmic axis has room for them.

    `hides_values` says whether the last `scaled` had to leave out values that have no logarithm, `spike` the furthest
    value that the last `fit_to` left out of the range. `landmark` is a value that is shown, too, where what is drawn lies
    near enough to it to keep half of the height. While it `is_held`, the range is the one that a person chose.
    """

    def __init__(self, *, from_zero: bool = False) -> None:
        self._from_zero = from_zero
        self.is_log = False
        self.hides_values = False
        self.shows_spikes = False
        self.spike: float | None = None
        self.landmark: float | None = None
        self.bottom, self.top = 0.0, 1.0
        self.is_held = False
        self._is_chosen = False

    def forget_range(self) -> None:
        """Choose afresh at the next `fit_to`."""
        self.is_held = self._is_chosen = False

    def hold(self, bottom: float, top: float, heights: Floats) -> None:
        """The person chose this range; as far as it lies in that of ``heights``, all there are, it stays until `forget_range`. To
        have chosen the whole of it is to see all of them, spikes and all, as more come."""
        heights = heights[np.isfinite(heights)]
        if len(heights) == 0:
            return
        whole = self._span(heights)
        middle, least = (bottom + top) / 2, self._narrowest(whole)
        if top - bottom < least:
            bottom, top = middle - least / 2, middle + least / 2
        span = clamp_span((bottom, top), whole)
        self.is_held, self.shows_spikes = span != whole, self.shows_spikes or span == whole
        self._is_chosen = False
        self.bottom, self.top = span

    def _narrowest(self, whole: Span) -> float:
        """The least height to zoom to: of less, the numbers beside the axis are not to be told apart."""
        if self.is_log:
            return _SMALLEST_LOG_SPAN
        return max(_NARROWEST * (abs(whole[0]) + abs(whole[1])), _SMALLEST_SPAN)

    def scale_values(self, xs: Floats, ys: Floats) -> tuple[Floats, Floats]:
        """The points as they are drawn; on a logarithmic axis those at 0 and below are left out."""
        if not self.is_log:
            return xs, ys
        shown = ~(ys <= 0)  # gaps stay: NaN compares false
        self.hides_values |= not bool(shown.all())
        return xs[shown], np.log10(ys[shown])

    def height(self, value: float) -> float:
        """Where a value lies, moved into the range; the bottom for one that cannot be drawn."""
        value = self.place(value)
        return min(max(value, self.bottom), self.top) if math.isfinite(value) else self.bottom

    def place(self, value: float) -> float:
        """Where a value lies, in the range or not; NaN for one that cannot be drawn."""
        if self.is_log:
            return math.log10(value) if value > 0 else math.nan
        return value

    def note(self) -> tuple[str, str]:
        """What cannot be seen as it stands, in a few words and in fewer; "" for nothing."""
        if self.spike is not None:
            return f"Peak {self.spike:.3g} (Fit)", f"Peak {self.spike:.3g}"
        return ("Values ≤ 0 not shown", "≤ 0 not shown") if self.hides_values else ("", "")

    def near_top(self) -> float:
        """A height just below the upper edge."""
        return self.top - 0.06 * (self.top - self.bottom)

    def fit_to(self, steady: list[Floats], noisy: list[Floats]) -> None:
        """Make sure that everything drawn is seen but the spikes of the noisy curves; keep the range while it all fits and
        fills half of it."""
        whole = _finite([*steady, *noisy])
        if len(whole) == 0 or self.is_held:
            self.spike = None
            return
        hides = not self.is_log and not self.shows_spikes
        self._show(_finite([*steady, *(_without_spikes(each) for each in noisy)]) if hides else whole)
        low, high = float(whole.min()), float(whole.max())
        self.spike = high if high > self.top else low if low < self.bottom else None

    def _show(self, heights: Floats) -> None:
        low, high, span = self._measure(heights)
        if self._is_chosen and self.bottom <= low and high <= self.top and span > 0.5 * (self.top - self.bottom):
            return
        self._is_chosen = True
        self.bottom, self.top = self._span(heights)

    def _span(self, heights: Floats) -> Span:
        low, high, span = self._measure(heights)
        return low - 0.08 * span, high + 0.12 * span

    def _measure(self, heights: Floats) -> tuple[float, float, float]:
        """The lowest and the highest that have to be seen, and how far they are apart, which is never nothing."""
        low, high = float(heights.min()), float(heights.max())
        if self.landmark is not None and low - (high - low) <= (at := self.place(self.landmark)) <= high + (high - low):
            low, high = min(low, at), max(high, at)
        if self._from_zero and not self.is_log:
            low, high = min(low, 0.0), max(high, 0.0)
        if self.is_log:
            span = max(high - low or 1.0, _SMALLEST_LOG_SPAN)
        else:
            span = max(high - low or abs(high) or 1.0, _SMALLEST_SPAN)
        return low, high, span


def _finite(drawn: list[Floats]) -> Floats:
    heights = np.concatenate([np.empty(0), *drawn])
    return heights[np.isfinite(heights)]


def _without_spikes(heights: Floats) -> Floats:
    """What of a noisy curve has to be seen."""
    heights = heights[np.isfinite(heights)]
    if len(heights) < _FEWEST:
        return heights
    at = [round(share / 100 * (len(heights) - 1)) for share in _COMMON]  # np.percentile takes four times as long
    low, high = (float(edge) for edge in np.partition(heights, at)[at])
    common = high - low
    if common == 0:
        return heights
    if heights.max() > high + _FAR * common:
        heights = heights[heights <= high + common]
    if heights.min() < low - _FAR * common:
        heights = heights[heights >= low - common]
    return heights
