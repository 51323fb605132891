"""Curves and bars as shapes of SVG: places on a drawing of fixed size, for the page's template to draw."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from training.runs.pyramid.smoothing import ExponentialAverage

WIDTH, HEIGHT = 880.0, 320.0
LEFT, RIGHT, TOP, BOTTOM = 104.0, WIDTH - 24.0, 12.0, HEIGHT - 42.0
COLUMNS = 800
"""A curve with more than twice as many points is drawn as the least and the greatest of each column."""
COLORS = 7

Numbers = NDArray[np.float64]
Labeled = list[tuple[float, str]]
"""Places on an axis in drawing units, with what is written there."""


@dataclass(frozen=True)
class Curve:
    """One line: its values, the number of its color, and how it is drawn ("line", "raw" faintly, "points")."""

    label: str
    color: int
    x: Numbers
    y: Numbers
    style: str = "line"
    points: str = ""
    """Its places as SVG wants them, once it is drawn: "x,y x,y ..."."""


@dataclass(frozen=True)
class Bar:
    """A rectangle of a histogram."""

    x: float
    y: float
    width: float
    height: float
    color: int
    title: str


@dataclass(frozen=True)
class Drawing:
    """What the template draws. All places are in drawing units, from the upper left."""

    title: str
    x_label: str
    y_label: str
    x_ticks: Labeled
    y_ticks: Labeled
    curves: Sequence[Curve] = ()
    bars: Sequence[Bar] = ()
    marks: Sequence[tuple[float, str]] = ()
    legend: Sequence[tuple[str, int]] = ()
    width: float = WIDTH
    height: float = HEIGHT
    left: float = LEFT
    right: float = RIGHT
    top: float = TOP
    bottom: float = BOTTOM


class _Axis:
    """Places of numbers from ``low`` to ``high`` between ``begin`` and ``end``; ``log`` for a logarithmic axis."""

    def __init__(self, low: float, high: float, begin: float, end: float, log: bool = False) -> None:
        self._low, self._high = (math.log10(low), math.log10(high)) if log else (low, high)
        if self._high <= self._low:
            self._high = self._low + 1.0
        self._begin, self._log = begin, log
        self._unit = (end - begin) / (self._high - self._low)

    def place(self, values: Numbers | float) -> Numbers:
        numbers = np.asarray(values, dtype=np.float64)
        return (
            self._begin + ((np.log10(np.maximum(numbers, 1e-300)) if self._log else numbers) - self._low) * self._unit
        )

    def ticks(self, percent: bool = False) -> Labeled:
        """Round numbers, about five of them; on a logarithmic axis 1, 2 and 5 of each decade."""
        low, high = self._low, self._high
        if self._log:
            factors, powers = (1, 2, 5) if high - low < 2.5 else (1,), range(math.floor(low) - 1, math.ceil(high) + 1)
            every = [factor * 10.0**power for power in powers for factor in factors]
            values = [value for value in every if low - 1e-9 <= math.log10(value) <= high + 1e-9]
        else:
            rough = (high - low) / 5
            power = 10 ** math.floor(math.log10(rough))
            step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
            values = [n * step for n in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]
        return [(float(self.place(value)), _format_tick(value, percent)) for value in values]


def _format_tick(value: float, percent: bool) -> str:
    if percent:
        return f"{100 * value:.4g}%"
    if value and abs(value) < 1e-3:
        return f"{value:.0e}".replace("e-0", "e-")
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def line_drawing(
    title: str,
    x_label: str,
    y_label: str,
    curves: Sequence[Curve],
    *,
    log_y: bool = False,
    percent: bool = False,
    marks: Sequence[tuple[float, str]] = (),
) -> Drawing:
    """Curves over one another, and marks at places of x; points that are not finite are left out, and on a logarithmic axis
    those not above 0."""
    curves = [curve for curve in (_drop_odd_points(curve, log_y) for curve in curves) if len(curve.x)]
    solid = [curve for curve in curves if curve.style != "raw"]
    everything = np.concatenate([curve.y for curve in curves]) if curves else np.array([0.0, 1.0])
    low, high = float(everything.min()), float(everything.max())
    if log_y and curves:  # one lucky batch would stretch the axis by decades
        low = min(float(curve.y.min()) for curve in solid or curves) / 4
        curves = [replace(curve, y=np.maximum(curve.y, low)) for curve in curves]
    elif curves:
        edge = 0.04 * (high - low) or 0.01
        low, high = (max(low - edge, 0.0) if low >= 0 else low - edge), high + edge
        high = min(high, 1.0) if percent and high - edge <= 1.0 else high
    first = min((float(curve.x.min()) for curve in curves), default=0.0)
    last = max((float(curve.x.max()) for curve in curves), default=1.0)
    if all(curve.style == "points" for curve in curves):  # even a single one lies on the way from the beginning
        first = min(first, 0.0)
    x, y = _Axis(first, last, LEFT, RIGHT), _Axis(low, high, BOTTOM, TOP, log_y and bool(curves))
    return Drawing(
        title,
        x_label,
        y_label,
        x.ticks(),
        y.ticks(percent),
        curves=[replace(curve, points=_points(x.place(curve.x), y.place(curve.y))) for curve in curves],
        marks=[(float(x.place(step)), label) for step, label in marks],
        legend=[*dict.fromkeys((curve.label, curve.color) for curve in solid)],
    )


def _drop_odd_points(curve: Curve, log_y: bool) -> Curve:
    good = np.isfinite(curve.y) & ((curve.y > 0) if log_y else True)
    return replace(curve, x=curve.x[good], y=curve.y[good])


def _points(across: Numbers, down: Numbers) -> str:
    """Of many points the least and the greatest of each column, so that no spike is lost."""
    if len(across) > 2 * COLUMNS:
        parts = np.array_split(np.arange(len(across)), COLUMNS)
        chosen = [place for part in parts for place in sorted({part[down[part].argmin()], part[down[part].argmax()]})]
        across, down = across[chosen], down[chosen]
    return " ".join(f"{one:.1f},{other:.1f}" for one, other in zip(across, down, strict=True))


def find_weight(samples: int) -> float:
    """Of an exponential average over a fiftieth of a curve of so many samples; 0 of a short one, which needs none."""
    return 1.0 - 1.0 / max(samples / 50, 1.0)


def smooth(values: Numbers) -> Numbers:
    """A running average over a fiftieth of the curve, without the bias towards zero at its beginning; NaN where the value is no
    number."""
    return ExponentialAverage(find_weight(len(values))).append(values)


def histogram(
    title: str, x_label: str, groups: Sequence[tuple[str, Numbers]], threshold: float, word: str, bins: int = 48
) -> Drawing:
    """How often each size comes, on a logarithmic axis; the groups stand on one another, ``threshold`` is marked."""
    groups = [(label, values[np.isfinite(values) & (values > 0)]) for label, values in groups]
    whole = np.concatenate([values for _, values in groups])
    whole = whole if len(whole) else np.array([threshold or 1.0])
    low, high = min(float(whole.min()), threshold or math.inf), max(float(whole.max()), threshold)
    edges = np.geomspace(low / 1.05, high * 1.05, bins + 1)
    counts = [np.histogram(values, edges)[0] for _, values in groups]
    tallest = int(np.sum(counts, axis=0).max())
    x = _Axis(float(edges[0]), float(edges[-1]), LEFT, RIGHT, log=True)
    y = _Axis(0.0, max(tallest, 1) * 1.06, BOTTOM, TOP)
    sides, below, bars = x.place(edges), np.zeros(bins), []
    for color, ((label, _), count) in enumerate(zip(groups, counts, strict=True)):
        feet, heads = y.place(below), y.place(below + count)
        for n in np.flatnonzero(count):
            words = f"{label}: {count[n]:,} steps with a norm of {edges[n]:.3g} to {edges[n + 1]:.3g}"
            left, width = round(sides[n] + 0.5, 1), round(sides[n + 1] - sides[n] - 1, 1)
            bars.append(Bar(left, round(heads[n], 1), width, round(feet[n] - heads[n], 1), color, words))
        below = below + count
    return Drawing(
        title,
        x_label,
        "Steps",
        x.ticks(),
        y.ticks(),
        bars=bars,
        marks=[(float(x.place(threshold)), word)] if threshold else (),
        legend=[(label, color) for color, (label, _) in enumerate(groups)],
    )
