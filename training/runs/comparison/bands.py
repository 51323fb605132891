"""The mean of several runs' curves, and how far they lie apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from training.runs.pyramid.levels import Floats


@dataclass(frozen=True)
class Band:
    """At each of ``steps`` over the ``n`` runs that have a finite value there: mean, smallest, largest and sample standard deviation
    (0 of one run). Where none has one they are NaN."""

    steps: Floats
    n: NDArray[np.int64]
    mean: Floats
    low: Floats
    high: Floats
    std: Floats

    def edges(self, kind: str) -> tuple[Floats, Floats]:
        """The lower and the upper edge of the band: "range", from the smallest to the largest, or "std", one standard deviation to
        each side of the mean."""
        return (self.low, self.high) if kind == "range" else (self.mean - self.std, self.mean + self.std)


def average(curves: Sequence[tuple[Floats, Floats]]) -> Band:
    """The band of curves, each as its rising steps and its values: of all that are given, whatever part of them is looked at.

    Mean and squares are updated run by run (Welford, "Note on a method for calculating corrected sums of squares and products",
    1962), so that runs of large and nearly equal values lose nothing.
    """
    longest: Floats = max((steps for steps, _ in curves), key=len, default=np.empty(0))
    aligned = all(np.array_equal(steps, longest[: len(steps)]) for steps, _ in curves)
    steps = longest if aligned else np.unique(np.concatenate([steps for steps, _ in curves]))
    n = np.zeros(len(steps), np.int64)
    mean, squares = np.zeros(len(steps)), np.zeros(len(steps))
    low, high = np.full(len(steps), np.inf), np.full(len(steps), -np.inf)
    for own, values in curves:
        there = np.isfinite(values)
        at = np.searchsorted(steps, own[there])
        found = values[there].astype(np.float64)
        n[at] += 1
        away = found - mean[at]
        mean[at] += away / n[at]
        squares[at] += away * (found - mean[at])
        low[at], high[at] = np.minimum(low[at], found), np.maximum(high[at], found)
    nobody = n == 0
    mean[nobody] = low[nobody] = high[nobody] = np.nan
    return Band(steps, n, mean, low, high, np.sqrt(squares / np.maximum(n - 1, 1)))
