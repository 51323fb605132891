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
    from group to group than that of single samples would (L. Kish, "Survey Sampling", 1965), with Student's quantile for so few groups, never
    less than 1 (Korn and Graubard, Survey Methodology 1998). Where all samples are alike, a group tells no more than one of them."""
    if parts.ndim == 1:
        return [wilson(*both) for both in zip(parts.tolist(), wholes.tolist(), strict=True)]
    return [_limit_rate(each) for each in _describe(parts, wholes)]


def mean_intervals(parts: Totals, counts: Totals, squares: Totals) -> list[Interval]:
    """The means of numbers, of which there are ``counts`` with the sums ``parts`` and the sums of squares ``squares``. Of groups by how much
    their sums vary about what their sizes tell (W. G. Cochran, "Sampling Techniques", 6.4); limits are NaN of a single one."""
    if parts.ndim == 1:
        return [mean_interval(*each) for each in zip(counts.tolist(), parts.tolist(), squares.tolist(), strict=True)]
    return [_limit_mean(each) for each in _describe(parts, counts)]


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
    counts = sum_columns(np.stack([positive, ~positive], axis=1), groups)
    shares = counts / counts.sum(0)
    units = int((counts > 0).any(1).sum())
    if shares.max() == 1.0:  # one side is a single group
        return Interval(whole.value, math.nan, math.nan)
    sides = np.where(positive, 0, 1)
    moves = np.bincount(groups, placements / (counts.sum(0) * (1.0 - shares[groups]))[np.arange(len(groups)), sides])
    error = math.sqrt(float(np.square(moves).sum()) * (units - 1) / units)
    alike = float((1.0 / np.square(shares).sum(0)).sum())
    logit = math.log(whole.value / (1.0 - whole.value))
    half = student_quantile(max(alike - 2.0, 1.0)) * error / (whole.value * (1.0 - whole.value))
    return Interval(whole.value, *(1.0 / (1.0 + math.exp(-(logit + side * half))) for side in (-1.0, 1.0)))


class _Ratio(NamedTuple):
    """Of the sums over all groups, ``value`` of ``whole``: ``groups`` have some of it, and tell as much as ``alike`` of one size would.
    ``variance`` is by how much the ratio moves without each of the groups in turn (the jackknife, which unequal groups don't deceive); NaN of
    a single one."""

    value: float
    whole: float
    groups: int
    alike: float
    variance: float

    @property
    def quantile(self) -> float:
        """Student's, of so few groups."""
        return student_quantile(max(self.alike - 1.0, 1.0))


def _describe(parts: Totals, wholes: Totals) -> list[_Ratio]:
    """Each column's ratio."""
    groups, whole = (wholes > 0).sum(0), wholes.sum(0, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = parts.sum(0, dtype=np.float64) / whole
        moves = (parts - np.where(whole > 0, value, 0.0) * wholes) / (whole - wholes)
        variance = np.where(groups > 1, np.square(moves).sum(0) * (groups - 1) / groups, math.nan)
        alike = 1.0 / np.square(wholes / whole).sum(0)
    columns = value, whole, groups, alike, variance
    return [_Ratio(*each) for each in zip(*(column.tolist() for column in columns), strict=True)]


def _limit_rate(ratio: _Ratio) -> Interval:
    if not ratio.groups:
        return wilson(0, 0)
    alone = ratio.value * (1.0 - ratio.value) / ratio.whole
    telling = float(ratio.groups)
    if alone and ratio.groups > 1:
        telling = ratio.whole / max(ratio.variance / alone * (ratio.quantile / _EVEN) ** 2, 1.0)
    return wilson(ratio.value * telling if ratio.value < 1.0 else telling, telling)._replace(value=ratio.value)


def _limit_mean(ratio: _Ratio) -> Interval:
    half = ratio.quantile * math.sqrt(ratio.variance) if ratio.groups > 1 else math.nan
    return Interval(ratio.value, ratio.value - half, ratio.value + half)
