"""Intervals that are found at once, of a selection of samples: of rates Wilson's, of means Student's, of areas DeLong's. Where samples belong
together, their groups are what was drawn, and what the limits are judged by.

``groups`` (n,) are whole numbers from 0 on, the same for the samples of a group, or None where each sample was drawn by itself."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.statistics.curves import Point, Ranking, area, stand_at
from training.statistics.influences import place_between
from training.statistics.intervals import (
    LEVEL,
    NORMAL,
    Interval,
    mean_interval,
    student_quantile,
    turn_into_f1,
    wilson,
)

Groups = NDArray[np.integer] | None
Totals = NDArray[np.floating | np.integer]
"""(k,) over all samples, or (groups, k) over those of each group."""
_EVEN = NORMAL.inv_cdf(0.5 + LEVEL / 2.0)


def count_cells(cells: NDArray[np.integer], size: int, groups: Groups, amounts: NDArray[Any] | None = None) -> Totals:
    """Samples in each of ``size`` cells, or the sum of their ``amounts`` (n,); those in a negative cell don't count."""
    place = np.asarray(cells, np.intp) + 1
    if groups is None:
        return np.bincount(place, amounts, minlength=size + 1)[1:]
    count = int(groups.max(initial=-1)) + 1
    found = np.bincount(groups * (size + 1) + place, amounts, minlength=count * (size + 1))
    return found.reshape(count, size + 1)[:, 1:]


def sum_columns(values: NDArray[Any], groups: Groups) -> Totals:
    """Of (n, k) numbers."""
    if groups is None:
        return np.asarray(values.sum(0, dtype=np.int64 if values.dtype == np.bool_ else None))
    count = int(groups.max(initial=-1)) + 1
    columns = [np.bincount(groups, each, minlength=count) for each in np.asarray(values, np.float64).T]
    return np.stack(columns, axis=1) if columns else np.zeros((count, 0))


def rate_intervals(parts: Totals, wholes: Totals) -> list[Interval]:
    """The shares of ``wholes`` that ``parts`` are, counts of samples; all NaN where there are none.

    Of groups Wilson's interval of as many samples as would tell as much: their number by the design effect, how much more the rate varies
    from group to group than that of single samples would (L. Kish, "Survey Sampling", 1965), never less than 1; and by Student's quantile for so
    few groups (Korn and Graubard, Survey Methodology 1998). Where all samples are alike, a group tells no more than one of them."""
    if parts.ndim == 1:
        return [wilson(*both) for both in zip(parts.tolist(), wholes.tolist(), strict=True)]
    return [_limit_rate(*each) for each in zip(*_describe(parts, wholes), strict=True)]


def mean_intervals(parts: Totals, counts: Totals, squares: Totals) -> list[Interval]:
    """The means of numbers, of which there are ``counts`` with the sums ``parts`` and the sums of squares ``squares``. Of groups by how much
    their sums vary about what their sizes tell (W. G. Cochran, "Sampling Techniques", 6.4); limits are NaN of a single one."""
    if parts.ndim == 1:
        return [mean_interval(*each) for each in zip(counts.tolist(), parts.tolist(), squares.tolist(), strict=True)]
    return [_limit_mean(*each) for each in zip(*_describe(parts, counts), strict=True)]


def f1_intervals(correct: Totals, support: Totals, predicted: Totals) -> list[Interval]:
    """F1 of classes: it grows with the rate r of ``correct`` among all that are of the class or taken for it, F1 = 2r / (1 + r), and so do
    the limits of r."""
    rates = rate_intervals(correct, support + predicted - correct)
    return [Interval(*map(turn_into_f1, each)) for each in rates]


class Ranked(NamedTuple):
    """Scores and the truth, (n,) both, and the ``ranking`` that was made of them."""

    ranking: Ranking
    scores: NDArray[np.floating]
    positive: NDArray[np.bool_]
    groups: Groups


def find_point(ranked: Ranked, threshold: float) -> Point:
    """``curves.stand_at``, with limits by groups."""
    ranking, scores, positive, groups = ranked
    point = stand_at(ranking, threshold)
    if groups is None:
        return point
    called = scores >= threshold
    columns = np.stack([called & positive, called, positive, called & ~positive, ~positive], axis=1)
    hits, calls, positives, alarms, negatives = np.split(sum_columns(columns, groups), 5, axis=1)
    (precision,), (recall,) = rate_intervals(hits, calls), rate_intervals(hits, positives)
    (fallout,), (f1,) = rate_intervals(alarms, negatives), f1_intervals(hits, positives, calls)
    return point._replace(precision=precision, recall=recall, false_positive_rate=fallout, f1=f1)


def find_area(ranked: Ranked) -> Interval:
    """``curves.area``, with limits by groups: by the sums of what their samples add to it (N. A. Obuchowski, Biometrics 1997)."""
    ranking, scores, positive, groups = ranked
    whole = area(ranking)
    if groups is None or not 0.0 < whole.value < 1.0:
        return whole
    _, placements = place_between(scores, positive)
    influences = placements / np.where(positive, ranking.positives, ranking.negatives)
    sums = np.bincount(groups, influences)[np.bincount(groups) > 0]
    if len(sums) < 2:
        return Interval(whole.value, math.nan, math.nan)
    error = math.sqrt(float(np.square(sums).sum()) * len(sums) / (len(sums) - 1))
    logit = math.log(whole.value / (1.0 - whole.value))
    half = student_quantile(len(sums) - 1) * error / (whole.value * (1.0 - whole.value))
    return Interval(whole.value, *(1.0 / (1.0 + math.exp(-(logit + side * half))) for side in (-1.0, 1.0)))


def _describe(parts: Totals, wholes: Totals) -> tuple[list[float], list[float], list[int], list[float]]:
    """For each column the ratio of the sums, the sum below, how many groups have some of it, and the variance of the ratio; NaN where
    that is not known."""
    units, bottom = (wholes > 0).sum(0), wholes.sum(0, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = parts.sum(0, dtype=np.float64) / bottom
        spread = np.square(parts - np.where(bottom > 0, ratio, 0.0) * wholes).sum(0)
        variance = spread * units / (units - 1) / np.square(bottom)
    return ratio.tolist(), bottom.tolist(), units.tolist(), np.where(units > 1, variance, math.nan).tolist()


def _limit_rate(rate: float, count: float, units: int, variance: float) -> Interval:
    if not units:
        return wilson(0, 0)
    alone = rate * (1.0 - rate) / count
    telling = float(units)
    if alone and units > 1:
        telling = count / max(variance / alone, 1.0) * (_EVEN / student_quantile(units - 1)) ** 2
    return wilson(rate * telling if rate < 1.0 else telling, telling)._replace(value=rate)


def _limit_mean(mean: float, count: float, units: int, variance: float) -> Interval:
    half = student_quantile(units - 1) * math.sqrt(variance) if units > 1 else math.nan
    return Interval(mean, mean - half, mean + half)
