"""Curves and bars as lines of SVG: places on a drawing of fixed size, for the page's template to draw."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT = 880.0, 320.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 12.0, 12.0, 42.0
_COLUMNS = 800  # a curve with more points is drawn as the least and the greatest of each column

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """One line: its places, the number of its colour, and how it is drawn ("line", "raw" faintly, "points")."""

    label: str
    color: int
    x: Numbers
    y: Numbers
    style: str = "line"


@dataclass(frozen=True)
class Mark:
    """A vertical line with a word beside it."""

    x: float
    label: str


@dataclass(frozen=True)
class Tick:
    """A place on an axis, in drawing units, and its number."""

    place: float
    label: str


@dataclass(frozen=True)
class DrawnCurve:
    """A curve's points as SVG wants them: "x,y x,y ..."."""

    label: str
    color: int
    style: str
    points: str
    dots: tuple[tuple[float, float], ...] = ()


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
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    curves: tuple[DrawnCurve, ...] = ()
    bars: tuple[Bar, ...] = ()
    marks: tuple[tuple[float, str], ...] = ()
    legend: tuple[tuple[str, int], ...] = ()
    width: float = WIDTH
    height: float = HEIGHT
    left: float = _LEFT
    right: float = WIDTH - _RIGHT
    top: float = _TOP
    bottom: float = HEIGHT - _BOTTOM


@dataclass
class _Scale:
    """A number's place on an axis; ``log`` for a logarithmic one."""

    low: float
    high: float
    begin: float
    end: float
    log: bool = False
    _span: float = field(init=False)

    def __post_init__(self) -> None:
        if self.log:
            self.low, self.high = math.log10(self.low), math.log10(self.high)
        if self.high <= self.low:
            self.high = self.low + 1.0
        self._span = (self.end - self.begin) / (self.high - self.low)

    def __call__(self, values: Numbers | float) -> Numbers:
        numbers = np.asarray(values, dtype=np.float64)
        if self.log:
            numbers = np.log10(np.maximum(numbers, 1e-300))
        return self.begin + (numbers - self.low) * self._span

    def ticks(self, percent: bool = False) -> tuple[Tick, ...]:
        """Round numbers, about five of them; on a logarithmic axis 1, 2 and 5 of each decade."""
        values = _log_ticks(self.low, self.high) if self.log else _even_ticks(self.low, self.high)
        return tuple(Tick(float(self(value)), _number(value, percent)) for value in values)


def _even_ticks(low: float, high: float) -> list[float]:
    rough = (high - low) / 5
    power = 10 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    factors = (1, 2, 5) if high - low < 2.5 else (1,)
    values = [factor * 10.0**power for power in range(math.floor(low) - 1, math.ceil(high) + 1) for factor in factors]
    return [value for value in values if low - 1e-9 <= math.log10(value) <= high + 1e-9]


def _number(value: float, percent: bool) -> str:
    if percent:
        return f"{100 * value:.4g} %"
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
    marks: Sequence[Mark] = (),
) -> Drawing:
    """Curves over one another; points that are not finite are left out, and on a logarithmic axis those not above 0."""
    curves = [curve for curve in (_drawable(curve, log_y) for curve in curves) if len(curve.x)]
    solid = [curve for curve in curves if curve.style != "raw"] or curves
    everything = np.concatenate([curve.y for curve in curves]) if curves else np.array([0.0, 1.0])
    low, high = float(everything.min()), float(everything.max())
    if log_y and curves:  # one lucky batch would stretch the axis by decades
        low = min(float(curve.y.min()) for curve in solid) / 4
        curves = [_above(curve, low) for curve in curves]
    elif curves:
        edge = 0.04 * (high - low) or 0.01
        low, high = (max(low - edge, 0.0) if low >= 0 else low - edge), high + edge
    ends = [float(curve.x.max()) for curve in curves] or [1.0]
    starts = [float(curve.x.min()) for curve in curves] or [0.0]
    x = _Scale(min(starts), max(ends), _LEFT, WIDTH - _RIGHT)
    y = _Scale(low, high, HEIGHT - _BOTTOM, _TOP, log_y)
    legend = dict.fromkeys((curve.label, curve.color) for curve in curves if curve.style != "raw")
    return Drawing(
        title,
        x_label,
        y_label,
        x.ticks(),
        y.ticks(percent),
        curves=tuple(_drawn(curve, x, y) for curve in curves),
        marks=tuple((float(x(mark.x)), mark.label) for mark in marks),
        legend=tuple(legend),
    )


def _drawable(curve: Curve, log_y: bool) -> Curve:
    good = np.isfinite(curve.y) & ((curve.y > 0) if log_y else True)
    return Curve(curve.label, curve.color, curve.x[good], curve.y[good], curve.style)


def _above(curve: Curve, low: float) -> Curve:
    return Curve(curve.label, curve.color, curve.x, np.maximum(curve.y, low), curve.style)


def _drawn(curve: Curve, x: _Scale, y: _Scale) -> DrawnCurve:
    across, down = x(curve.x), y(curve.y)
    if curve.style == "points":
        dots = tuple((round(float(one), 1), round(float(other), 1)) for one, other in zip(across, down, strict=True))
        return DrawnCurve(curve.label, curve.color, curve.style, _points(across, down), dots)
    return DrawnCurve(curve.label, curve.color, curve.style, _points(*_thinned(across, down)))


def _thinned(across: Numbers, down: Numbers) -> tuple[Numbers, Numbers]:
    """Of many points the least and the greatest of each column, so that no spike is lost."""
    if len(across) <= 2 * _COLUMNS:
        return across, down
    chosen: list[int] = []
    for part in np.array_split(np.arange(len(across)), _COLUMNS):
        chosen += sorted({int(part[np.argmin(down[part])]), int(part[np.argmax(down[part])])})
    return across[chosen], down[chosen]


def _points(across: Numbers, down: Numbers) -> str:
    return " ".join(f"{one:.1f},{other:.1f}" for one, other in zip(across, down, strict=True))


def smoothed(values: Numbers) -> Numbers:
    """A running average over a fiftieth of the curve, without the bias towards zero at its beginning."""
    decay = 1.0 - 1.0 / max(len(values) / 50, 1.0)
    result, mean, weight = np.empty(len(values)), 0.0, 0.0
    for place, value in enumerate(values.tolist()):
        if math.isfinite(value):  # a skipped step has no loss worth a place in an average
            mean, weight = decay * mean + (1 - decay) * value, decay * weight + 1 - decay
        result[place] = mean / weight if weight else math.nan
    return result


def histogram(
    title: str, x_label: str, groups: Sequence[tuple[str, Numbers]], threshold: float, word: str, bins: int = 48
) -> Drawing:
    """How often each size comes, on a logarithmic axis; the groups stand on one another, ``threshold`` is marked."""
    groups = [(label, values[np.isfinite(values) & (values > 0)]) for label, values in groups]
    whole = np.concatenate([values for _, values in groups]) if groups else np.array([])
    if not len(whole):
        whole = np.array([threshold or 1.0])
    low, high = min(float(whole.min()), threshold or math.inf), max(float(whole.max()), threshold)
    edges = np.geomspace(low / 1.05, high * 1.05, bins + 1)
    counts = [np.histogram(values, edges)[0] for _, values in groups]
    tallest = int(np.sum(counts, axis=0).max()) if counts else 1
    x = _Scale(float(edges[0]), float(edges[-1]), _LEFT, WIDTH - _RIGHT, log=True)
    y = _Scale(0.0, max(tallest, 1) * 1.06, HEIGHT - _BOTTOM, _TOP)
    bars, below = [], np.zeros(bins)
    for color, ((label, _), count) in enumerate(zip(groups, counts, strict=True)):
        for place in np.flatnonzero(count):
            left, right = (float(x(float(edges[place + side]))) for side in (0, 1))
            foot, head = (float(y(float(below[place] + more))) for more in (0, count[place]))
            words = f"{label}: {count[place]:,} steps with a norm of {edges[place]:.3g} to {edges[place + 1]:.3g}"
            bars.append(
                Bar(
                    round(left + 0.5, 1),
                    round(head, 1),
                    round(right - left - 1, 1),
                    round(foot - head, 1),
                    color,
                    words,
                )
            )
        below += count
    return Drawing(
        title,
        x_label,
        "Steps",
        x.ticks(),
        y.ticks(),
        bars=tuple(bars),
        marks=((float(x(threshold)), word),) if threshold else (),
        legend=tuple((label, color) for color, (label, _) in enumerate(groups)),
    )
