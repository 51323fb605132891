"""The 95 % interval of a number: Wilson's for a rate of samples, the bootstrap's for everything else.

The bootstrap draws whole units with replacement: samples (images, sequences, queries, rows), or groups of samples where
some belong together. A ``Metric`` says what the samples score if each counts so many times, so that thousands of resamples
are a few products of matrices. Limits are BCa (Efron, "Better bootstrap confidence intervals", JASA 1987): percentiles
moved for the bias and the skewness of the metric, the latter by a jackknife over at most 500 blocks of units."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Weights = NDArray[np.float32]
"""How often each sample counts, (b, samples): float32, which holds these small whole numbers exactly."""

RESAMPLES = 2000
LEVEL = 0.95
CHUNK_BYTES = 1 << 25
"""Weights that are in memory at a time: with what a metric makes of them, some 100 MB."""
BLOCKS = 500
"""Parts that the jackknife leaves out in turn."""
NORMAL = NormalDist()


class Interval(NamedTuple):
    """A number and the limits, low <= value <= high, between which the truth lies with 95 % confidence; all NaN where there is no
    such number."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Metric:
    """What ``samples`` samples score, as a function of how often each of them counts.

    ``gather`` makes sums (b, k) of weights (b, samples), and ``score`` one number (b,) or several (b, m) of such sums, NaN
    where there is none. ``limit``, where given, makes (low, high) of the sums (k,) of the samples, those (b, k) of all
    resamples and the level: for a number whose bias BCa cannot mend. ``terms`` (samples, k), where given, are what ``gather`` adds
    up, and all that ``score`` follows from. The number lies within ``bounds``, which those of resamples may pass where they are
    approximations."""

    samples: int
    gather: Callable[[Weights], Floats]
    score: Callable[[Floats], Floats]
    limit: Callable[[Floats, Floats, float], tuple[float, float]] | None = None
    terms: NDArray[Any] | None = None
    bounds: tuple[float, float] = (-math.inf, math.inf)

    def sums(self) -> Floats:
        """(1, k) of the samples as they are."""
        return self.gather(np.ones((1, self.samples), np.float32))

    def values(self) -> Floats:
        """(m,) of the samples as they are."""
        return as_columns(self.score(self.sums()))[0]

    @property
    def value(self) -> float:
        """Of the samples as they are; the first of several numbers."""
        return float(self.values()[0])


def wilson(successes: float, count: float, level: float = LEVEL) -> Interval:
    """The rate of ``successes`` among ``count`` samples (E. B. Wilson, JASA 1927); NaN without samples."""
    if not count:
        return Interval(math.nan, math.nan, math.nan)
    z = NORMAL.inv_cdf(0.5 + level / 2.0)
    rate, weight = successes / count, z * z / count
    center = (rate + weight / 2.0) / (1.0 + weight)
    half = z / (1.0 + weight) * math.sqrt(rate * (1.0 - rate) / count + weight / (4.0 * count))
    low = 0.0 if successes == 0 else center - half
    return Interval(rate, low, 1.0 if successes == count else center + half)


def mean_interval(count: int, total: float, squares: float, level: float = LEVEL) -> Interval:
    """The mean of ``count`` independent numbers with their sum and the sum of their squares: Student's interval; NaN limits of fewer than
    two."""
    if count < 2:
        return Interval(total / count if count else math.nan, math.nan, math.nan)
    mean, free = total / count, count - 1
    half = student_quantile(free, level) * math.sqrt(max(squares - count * mean * mean, 0.0) / free / count)
    return Interval(mean, mean - half, mean + half)


def student_quantile(free: float, level: float = LEVEL) -> float:
    """How many standard errors a limit is from a mean with ``free`` degrees of freedom: by the expansion in 1 / free (Abramowitz and
    Stegun, 26.7.5), which is exact to four digits from six on, to 1 % from two and to 12 % of a single one."""
    z = NORMAL.inv_cdf(0.5 + level / 2.0)
    first = (z**3 + z) / 4.0
    second = (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 96.0
    third = (3.0 * z**7 + 19.0 * z**5 + 17.0 * z**3 - 15.0 * z) / 384.0
    fourth = (79.0 * z**9 + 776.0 * z**7 + 1482.0 * z**5 - 1920.0 * z**3 - 945.0 * z) / 92160.0
    return z + first / free + second / free**2 + third / free**3 + fourth / free**4


def ratio_intervals(parts: NDArray[np.integer], wholes: NDArray[np.integer], level: float = LEVEL) -> list[Interval]:
    """For each class the sum of ``parts`` by the sum of ``wholes``, (units, classes) both: pixels of images, of which only the images are
    independent of each other. By the delta method on the logit, which keeps within 0 and 1 (W. G. Cochran, "Sampling Techniques", 6.4);
    limits are NaN of fewer than two units, of 0 and of 1, where the units do not tell how much they vary."""
    units, z = len(parts), NORMAL.inv_cdf(0.5 + level / 2.0)
    top, bottom = (each.sum(0, dtype=np.int64) for each in (parts, wholes))
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = top / bottom
        residuals = parts - wholes * ratio
        spread = np.ones(units) @ np.square(residuals, out=residuals)
        error = np.sqrt(spread * units / max(units - 1, 1)) / bottom
        logit, half = np.log(ratio / (1.0 - ratio)), z * error / (ratio * (1.0 - ratio))
        limits = [1.0 / (1.0 + np.exp(-(logit + side * half))) for side in (-1.0, 1.0)]
        told = (ratio > 0.0) & (ratio < 1.0) & (units > 1)
    low, high = (np.where(told, each, math.nan) for each in limits)
    return [Interval(*each) for each in zip(ratio.tolist(), low.tolist(), high.tolist(), strict=True)]


def f1_of(correct: int, support: int, predicted: int, level: float = LEVEL) -> Interval:
    """F1 of a class with ``support`` samples, taken for it ``predicted`` times, ``correct`` of them rightly: it grows with the rate r of
    the latter among all that are of the class or taken for it, F1 = 2r / (1 + r), and so do Wilson's limits of r."""
    return Interval(*map(turn_into_f1, wilson(correct, support + predicted - correct, level)))


def turn_into_f1(rate: float) -> float:
    """F1, or Dice, of the intersection over union, both of the same counts."""
    return 2.0 * rate / (1.0 + rate)


def bootstrap(
    metric: Metric, groups: NDArray[np.integer] | None = None, seed: int = 0, resamples: int = RESAMPLES
) -> Interval:
    """The interval of a metric that is one number. ``groups``, integers (samples,), tells which samples belong together."""
    return bootstrap_together({"": metric}, groups, seed, resamples)[""][0]


def bootstrap_together(
    metrics: Mapping[str, Metric],
    groups: NDArray[np.integer] | None = None,
    seed: int = 0,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> dict[str, list[Interval]]:
    """For each metric the intervals of its numbers (one, or one for each class), all from the same resamples, which are drawn
    once; metrics that share their ``gather`` (see ``metrics.average``) share its work. Every metric is of the same samples.
    The same seed gives the same limits."""
    first = next(iter(metrics.values()))
    gathers = {id(metric.gather): metric.gather for metric in metrics.values()}
    draws = gather_all(gathers, draw_weights(first.samples, groups, seed, resamples))
    without = gather_all(gathers, leave_out(first.samples, groups, seed))
    return {
        name: limit(metric, draws[id(metric.gather)], without[id(metric.gather)], level)
        for name, metric in metrics.items()
    }


def gather_all(gathers: Mapping[int, Callable[[Weights], Floats]], chunks: Iterable[Weights]) -> dict[int, Floats]:
    """The sums (b, k) of all chunks of weights."""
    found: dict[int, list[Floats]] = {name: [] for name in gathers}
    for weights in chunks:
        for name, gather in gathers.items():
            found[name].append(gather(weights))
    return {name: np.concatenate(parts) for name, parts in found.items()}


def limit(metric: Metric, draws: Floats, without: Floats, level: float) -> list[Interval]:
    """The intervals of a metric from the sums (b, k) of its resamples and those (j, k) without each block."""
    values = metric.values()
    if metric.limit is not None:
        return [Interval(float(values[0]), *metric.limit(metric.sums()[0], draws, level))]
    columns = zip(values, *(as_columns(metric.score(sums)).T for sums in (draws, without)), strict=True)
    limits = ((float(value), *adjust(float(value), drawn, left, level)) for value, drawn, left in columns)
    least, most = metric.bounds
    return [Interval(value, max(low, least), min(high, most)) for value, low, high in limits]


def adjust(value: float, draws: Floats, without: Floats, level: float) -> tuple[float, float]:
    """BCa limits of one number, from its values (b,) in the resamples and (j,) without each block."""
    draws, without = np.sort(draws[np.isfinite(draws)]), without[np.isfinite(without)]
    if not math.isfinite(value) or not len(draws):
        return math.nan, math.nan
    tolerance = 1e-12 * max(1.0, abs(value))
    below, to = np.searchsorted(draws, [value - tolerance, value + tolerance])
    share = (below + to) / (2.0 * len(draws))
    bias = NORMAL.inv_cdf(min(max(share, 0.5 / len(draws)), 1.0 - 0.5 / len(draws)))
    distances = without.mean() - without if len(without) else np.zeros(1)
    spread = float(np.square(distances).sum())
    skew = float((distances**3).sum()) / (6.0 * spread**1.5) if spread > tolerance**2 else 0.0
    limits = []
    for tail in (0.5 - level / 2.0, 0.5 + level / 2.0):
        moved = bias + NORMAL.inv_cdf(tail)
        limits.append(NORMAL.cdf(bias + moved / max(1.0 - skew * moved, 0.1)))
    low, high = np.quantile(draws, limits)
    return min(float(low), value), max(float(high), value)


# ---------------------------------------------------------------------------------------------------- resamples


def draw_weights(samples: int, groups: NDArray[np.integer] | None, seed: int, resamples: int) -> Iterator[Weights]:
    """Chunks float32 (b, samples), ``resamples`` rows in all: how often each sample is in a resample of as many units as there
    are. The array is used again for the next chunk."""
    random = np.random.Generator(np.random.PCG64(seed))
    units, place = number_units(samples, groups)
    for rows in chunk_rows(samples, resamples):
        for row in rows:
            drawn = np.bincount(random.integers(0, units, units), minlength=units)
            row[:] = drawn if place is None else drawn[place]
        yield rows


def leave_out(samples: int, groups: NDArray[np.integer] | None, seed: int) -> Iterator[Weights]:
    """Chunks as those of ``draw_weights`` of ones, with the samples of a block of units at 0: one unit a block where there are at
    most ``BLOCKS``, else as many blocks of units at random."""
    units, place = number_units(samples, groups)
    blocks = (
        np.random.Generator(np.random.PCG64(seed)).permutation(units) % BLOCKS if units > BLOCKS else np.arange(units)
    )
    block = blocks if place is None else blocks[place]
    number = 0
    for rows in chunk_rows(samples, min(units, BLOCKS)):
        for row in rows:
            np.not_equal(block, number, out=row, casting="unsafe")
            number += 1
        yield rows


def number_units(samples: int, groups: NDArray[np.integer] | None) -> tuple[int, NDArray[np.intp] | None]:
    """How many units there are, and the number of each sample's; None where each sample is one."""
    if groups is None:
        return samples, None
    found, place = np.unique(groups, return_inverse=True)
    return len(found), place


def chunk_rows(samples: int, rows: int) -> Iterator[Weights]:
    """Parts, to be filled, of one array of at most ``CHUNK_BYTES``: ``rows`` rows (samples,) in all."""
    room = np.empty((min(rows, max(1, CHUNK_BYTES // (4 * max(samples, 1)))), samples), np.float32)
    for start in range(0, rows, len(room)):
        yield room[: rows - start]


def as_columns(values: Floats) -> Floats:
    """(b, 1) of (b,); (b, m) as it is."""
    return values[:, None] if values.ndim == 1 else values
