"""Where a logarithmic axis has its numbers, so that there are some at every range. No Qt.

Decades where there are enough of them, else 1-2-5 within the decades, else equal steps, which is what a person reads off
values that lie close together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from studio.charts.number_labels import tick_labels

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
        at = list(_apart(ticks.at, gap))
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


def _apart(ticks: Iterable[float], gap: float) -> Iterator[float]:
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
