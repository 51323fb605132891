"""Where a logarithmic axis has its numbers, so that there are some at every range, and how numbers are written. No Qt.

Decades where there are enough of them, else 1-2-5 within the decades, else equal steps, which is what a person reads off
values that lie close together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

_GAP = 24  # pixels from one number to the next
_EDGE = 6  # pixels at both ends, where a number would be cut, which pyqtgraph leaves out altogether
_FOR_ONE = 60  # pixels of axis for each number that is wanted
_MOST_WANTED = 5
_EVERY = (1, 2, 3, 5, 10, 20, 50, 100, 200)  # decades
_MANTISSAS: tuple[tuple[int, ...], ...] = ((1, 2, 5), (1, 3))
_ONE_DECADE = 1.0  # up to here equal steps are tried, too


class LogTicks(NamedTuple):
    """``at``: decimal logarithms, rising; ``step``: between the values themselves, where they have equal steps, else 0."""

    at: list[float]
    step: float


def log_ticks(low: float, high: float, length: float) -> LogTicks:
    """The ticks of an axis that goes from 10**``low`` to 10**``high`` on ``length`` pixels."""
    wanted = min(max(2, int(length / _FOR_ONE)), _MOST_WANTED)
    if length <= 2 * _EDGE:
        return LogTicks([], 0.0)
    pixel = (high - low) / length
    low, high, gap = low + _EDGE * pixel, high - _EDGE * pixel, _GAP * pixel
    best = LogTicks([], 0.0)
    best_rank: tuple[bool, bool, int] = (False, False, 0)
    for ticks in _choices(low, high):
        at = list(_space_out(ticks.at, gap))
        whole = len(at) == len(ticks.at)
        if whole and len(at) >= wanted:
            return ticks
        rank = (len(at) > 1, whole, len(at) if whole else 0)  # one number alone gives no scale
        if rank > best_rank:
            best, best_rank = LogTicks(at, ticks.step), rank
    return best


def log_labels(at: list[float], step: float) -> list[str]:
    """The texts beside the ticks of ``log_ticks``."""
    if step:
        return tick_labels([10.0**exponent for exponent in at], step)
    return [_label(exponent) for exponent in at]


def _choices(low: float, high: float) -> Iterator[LogTicks]:
    """Sets of ticks between two exponents, the preferred ones first."""
    first, last = math.ceil(low), math.floor(high)
    for every in _EVERY:
        yield LogTicks([float(exponent) for exponent in range(-(-first // every) * every, last + 1, every)], 0.0)
    for mantissas in _MANTISSAS:
        all_of_them = (decade + math.log10(each) for decade in range(first - 1, last + 1) for each in mantissas)
        yield LogTicks([exponent for exponent in all_of_them if low <= exponent <= high], 0.0)
    if high - low < _ONE_DECADE:
        yield from _equal_steps(10.0**low, 10.0**high)


def _equal_steps(low: float, high: float) -> Iterator[LogTicks]:
    size = math.floor(math.log10(high - low))
    for step in (mantissa * 10.0**exponent for exponent in (size, size - 1) for mantissa in (5, 2, 1)):
        counts = range(max(1, math.ceil(low / step)), math.floor(high / step) + 1)
        yield LogTicks([math.log10(count * step) for count in counts], step)


def _space_out(ticks: Iterable[float], gap: float) -> Iterator[float]:
    """Those that have room above the one before."""
    last = -math.inf
    for tick in ticks:
        if tick - last >= gap:
            yield tick
            last = tick


def _label(exponent: float) -> str:
    decade = math.floor(exponent + 1e-9)
    mantissa = round(10.0 ** (exponent - decade))
    return f"{mantissa * 10.0**decade:g}" if -3 <= decade < 4 else f"{mantissa}e{decade}"


def tick_labels(values: Sequence[float], spacing: float) -> list[str]:
    """Texts for ticks `spacing` apart, all in one notation, with the fewest digits that tell them apart."""
    largest = max((abs(value) for value in values), default=0.0)
    if largest == 0 or spacing <= 0:
        return [f"{value:g}" for value in values]
    if 1e4 <= largest < 1e12 and spacing >= 100:
        return [_with_suffix(value) for value in values]
    if largest < 1e-3 or largest >= 1e6:
        digits = max(0, math.floor(math.log10(largest)) - math.floor(math.log10(spacing) + 1e-9))
        return [_scientific(value, digits) for value in values]
    places = max(0, -math.floor(math.log10(spacing) + 1e-9))
    return [f"{value:.{places}f}" for value in values]


def reading(value: float) -> str:
    """A value as a person reads it off: four significant digits; "–" for a gap."""
    if not math.isfinite(value):
        return "–"
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:#.4g}".rstrip(".")  # "#" keeps zeros: digits that come and go make the value jump
    return _scientific(value, 2)


def position(value: float) -> str:
    """A position on the x axis: whole steps with thousands apart, epochs with two decimals."""
    return f"{value:,.0f}" if abs(value - round(value)) < 1e-9 else f"{value:,.2f}"


def _scientific(value: float, digits: int) -> str:
    if value == 0:
        return "0"
    mantissa, exponent = f"{value:.{digits}e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def _with_suffix(value: float) -> str:
    for size, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{suffix}"
    return f"{value:g}"
