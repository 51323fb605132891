"""What the losses over rising rates say: where they fall the most, where they are lowest, and whether they fall at all.

Derivatives are by the logarithm of the rate: by the rate itself they would be steepest where the rates are smallest.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from training.runs.pyramid.smoothing import ExponentialAverage
from training.statistics.intervals import Floats

DIVERGED: Final = 4.0
"""How many times its best a smoothed loss is where the test ends."""
ERRORS: Final = 3.0
"""Standard errors that the loss has to fall by."""
_MEDIAN: Final = 1.25  # the standard error of a median beside that of a mean, sqrt(pi / 2)
_START: Final = 0.1  # the share of the steps whose loss is the level at the beginning
_FEWEST: Final = 10


@dataclass(frozen=True)
class RangeCurve:
    """``rates`` (n,) with the median of the replicates' losses and that smoothed. ``valley``, ``steepest`` and ``minimum`` are the rates
    that it suggests in three ways, ``valleys`` the first of them by each replicate alone. ``drop`` is how far the loss fell, less
    what the lowest of so many places is lower by chance, ``error`` the standard error of that; ``falls`` are each replicate's own, in their
    standard errors."""

    rates: Floats
    median: Floats
    smoothed: Floats
    valley: float
    steepest: float
    minimum: float
    valleys: tuple[float, ...]
    drop: float
    error: float
    falls: tuple[float, ...] = ()

    @property
    def is_clear(self) -> bool:
        """Whether the loss fell by more than chance makes of it: that of the median, or where replicates get going at rates of their
        own, by which their median falls little, that of most of them each by itself."""
        apart = sum(fall >= ERRORS for fall in self.falls) > max(len(self.falls) / 2.0, 1.0)
        return (self.drop >= ERRORS * self.error or apart) and len(self.rates) >= _FEWEST

    @property
    def start(self) -> float:
        """Where to begin to try: half-way, by the logarithm, from the valley to the lowest loss. A ramp stays at each rate for a moment
        only, so that its loss falls from rates on that are too low for a whole run, and the best of a run lies between the two."""
        return math.sqrt(self.valley * 10.0 * self.minimum)

    @property
    def spread(self) -> float:
        """How far the replicates' suggestions lie apart, as the factor of one standard deviation."""
        logs = np.log(self.valleys)
        return float(np.exp(logs.std(ddof=1))) if len(logs) > 1 else math.nan


def find_end(losses: Floats, steps: int) -> int:
    """How many of the first losses (n,) of a ramp of ``steps`` steps, of which some may not be made yet, count: those before one that is not finite, and before the smoothed loss is ``DIVERGED`` times its
    best; all of them where neither comes."""
    bad = ~np.isfinite(losses)
    whole = int(np.argmax(bad)) if bad.any() else len(losses)
    if not whole:
        return 0
    smoothed = ExponentialAverage(_choose_weight(steps)).append(losses[:whole])
    best = np.minimum.accumulate(smoothed)
    # Of a loss below 0 no multiple is worse: there it is the fall so far that counts.
    limit = np.where(best > 0.0, DIVERGED * best, best + DIVERGED * (smoothed[0] - best) + 1e-12)
    beyond = smoothed > limit
    return int(np.argmax(beyond)) if beyond.any() else whole


def read_curve(rates: Floats, replicates: Sequence[Floats]) -> RangeCurve:
    """Of the losses of replicates, each of at most as many steps as there are ``rates``, over the same rates."""
    steps = len(rates)
    losses = np.full((len(replicates), steps), math.inf)
    for row, values in zip(losses, replicates, strict=True):
        end = find_end(values, steps)
        row[:end] = values[:end]
    median = np.median(losses, axis=0)
    n = find_end(median, steps)
    if n < 2:
        nothing = np.empty(0)
        return RangeCurve(rates[:n], median[:n], nothing, math.nan, math.nan, math.nan, (), 0.0, 0.0)
    weight = _choose_weight(steps)
    smoothed = smooth(median[:n], weight)
    valleys, falls = [], []
    for row in losses:
        own = row[: int(np.isfinite(row).sum())]
        if len(own) < 2:
            continue
        alone = smooth(own, weight)
        valleys.append(float(rates[find_valley(alone[:n])]))
        fall, chance = _measure_drop(own[None], own, alone, weight, 1.0)
        falls.append(fall / chance if chance else math.copysign(math.inf, fall))
    drop, error = _measure_drop(losses[:, :n], median[:n], smoothed, weight)
    log_rates = np.log(rates[:n])
    return RangeCurve(
        rates=rates[:n],
        median=median[:n],
        smoothed=smoothed,
        valley=float(rates[find_valley(smoothed)]),
        steepest=float(rates[int(np.argmin(np.gradient(smoothed, log_rates)))]),
        minimum=float(rates[int(np.argmin(smoothed))]) / 10.0,
        valleys=tuple(valleys),
        drop=drop,
        error=error,
        falls=tuple(falls),
    )


def smooth(losses: Floats, weight: float) -> Floats:
    """The mean of the bias-corrected exponential averages from the left and from the right, each weighed by how much it rests on: unlike
    one of them alone it does not lag, which would move what it shows to higher rates."""
    forward = ExponentialAverage(weight).append(losses)
    backward = ExponentialAverage(weight).append(losses[::-1])[::-1]
    rests = 1.0 - weight ** np.arange(1.0, len(losses) + 1.0)
    smoothed: Floats = (forward * rests + backward * rests[::-1]) / (rests + rests[::-1])
    return smoothed


def find_valley(smoothed: Floats) -> int:
    """Half-way down the longest valley: of the longest falling subsequence, by dynamic programming, the point after a half of its length
    (fastai's ``valley``: a third and a sixth)."""
    lengths = np.ones(len(smoothed), np.int64)
    for place in range(1, len(smoothed)):
        higher = smoothed[:place] > smoothed[place]
        if higher.any():
            lengths[place] = 1 + lengths[:place][higher].max()
    end = int(np.argmax(lengths))
    start = max(end - int(lengths[end]), 0)
    third = (end - start) / 3.0
    return start + int(third) + int(third / 2.0)


def _measure_drop(
    losses: Floats, median: Floats, smoothed: Floats, weight: float, middle: float = _MEDIAN
) -> tuple[float, float]:
    """How far the median of the replicates (r, n) fell from the level at its beginning to its lowest place, and the standard error of
    that: the larger of what the noise around the smoothed curves makes of it, and what the replicates differ by. ``middle`` is what
    the median's is beside a mean's."""
    first = max(round(_START * len(median)), 3)
    lowest = min(first, len(smoothed) - 1) + int(np.argmin(smoothed[first:])) if len(smoothed) > first else 0
    drop = float(median[:first].mean() - smoothed[lowest])
    whole = [row for row in losses if np.isfinite(row).all()]
    if not whole:
        return drop, math.inf
    curves = [smooth(row, weight) for row in whole]
    noise = np.concatenate([(row - curve)[: lowest + 1] for row, curve in zip(whole, curves, strict=True)])
    left = 1.0 - (1.0 - weight) / (1.0 + weight)  # of the variance around an average that holds the sample itself
    variance = float(np.square(noise).mean()) / left
    shares = 1.0 / first + (1.0 - weight) / (1.0 + weight) / 2.0
    within = middle * math.sqrt(variance * shares / len(whole))
    width = (1.0 + weight) / (1.0 - weight)  # samples that an average is as good as
    places = max(len(median) / width, 1.0)
    drop -= middle * math.sqrt(variance / width / 2.0 / len(whole)) * math.sqrt(2.0 * math.log(places))
    if len(whole) < 2:
        return drop, within
    drops = [float(row[:first].mean() - curve[lowest]) for row, curve in zip(whole, curves, strict=True)]
    between = float(np.std(drops, ddof=1)) / math.sqrt(len(drops))
    return drop, max(within, between)


def _choose_weight(steps: int) -> float:
    """Of the exponential average: over about a tenth of the steps, from both sides."""
    return max(0.7, 1.0 - 20.0 / steps)
