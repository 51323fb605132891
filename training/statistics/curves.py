"""ROC and precision-recall curves of scores, thinned to what a screen shows, and where a threshold stands on them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.statistics.influences import find_levels
from training.statistics.intervals import LEVEL, NORMAL, Floats, Interval, f1_of, wilson

POINTS = 1000
"""Of a curve on the screen: no point is farther from its drawing than two thousandths of the chart."""


class Ranking(NamedTuple):
    """Distinct scores, float64 (t,), from the highest down, and how many positives and negatives score at least as much, int64
    (t,)."""

    thresholds: NDArray[np.floating]
    hits: NDArray[np.int64]
    alarms: NDArray[np.int64]

    @property
    def positives(self) -> int:
        return int(self.hits[-1]) if len(self.hits) else 0

    @property
    def negatives(self) -> int:
        return int(self.alarms[-1]) if len(self.alarms) else 0


class Curve(NamedTuple):
    """float64 (points,) each: across, up, and the threshold from which on the positives are found (inf: none is)."""

    x: Floats
    y: Floats
    thresholds: Floats


class Point(NamedTuple):
    """What a threshold does: counts of samples, and their rates with intervals."""

    threshold: float
    hits: int
    alarms: int
    misses: int
    rejections: int
    precision: Interval
    recall: Interval
    false_positive_rate: Interval
    f1: Interval


def rank_scores(scores: NDArray[np.floating], positive: NDArray[np.bool_]) -> Ranking:
    """By one sort of the scores (n,); ``positive`` bool (n,) tells the truth. All further questions are answered from it."""
    positive = np.asarray(positive, bool)
    levels = find_levels(np.asarray(scores, np.float64))
    hits, alarms = (levels.add_up(each)[::-1].cumsum().astype(np.int64) for each in (positive, ~positive))
    return Ranking(levels.values[::-1], hits, alarms)


def roc(ranking: Ranking, points: int = POINTS) -> Curve:
    """False positive rate across, true positive rate up, from (0, 0) to (1, 1); empty where one side is."""
    if not ranking.positives or not ranking.negatives:
        return Curve(*np.empty((3, 0)))
    x = np.append(0.0, ranking.alarms / ranking.negatives)
    y = np.append(0.0, ranking.hits / ranking.positives)
    return thin(Curve(x, y, np.append(math.inf, ranking.thresholds)), points)


def precision_recall(ranking: Ranking, points: int = POINTS) -> Curve:
    """Recall across, precision up, from the highest threshold down; empty where nothing is positive. Begins at recall 0 with the
    precision of the highest score."""
    if not ranking.positives:
        return Curve(*np.empty((3, 0)))
    recalls, precisions = ranking.hits / ranking.positives, ranking.hits / (ranking.hits + ranking.alarms)
    curve = Curve(
        np.append(0.0, recalls), np.append(precisions[0], precisions), np.append(math.inf, ranking.thresholds)
    )
    return thin(curve, points)


def thin(curve: Curve, points: int) -> Curve:
    """At most about as many points, both ends among them: those at equal distances along the curve."""
    if len(curve.x) <= points:
        return curve
    along = np.append(0.0, (np.abs(np.diff(curve.x)) + np.abs(np.diff(curve.y))).cumsum())
    chosen = np.searchsorted(along, np.linspace(0.0, along[-1], points - 1))
    chosen = np.unique(np.append(chosen, len(along) - 1))
    return Curve(*(each[chosen] for each in curve))


def area(ranking: Ranking) -> Interval:
    """Under the ROC curve, by the trapezoidal rule, with the interval of DeLong, DeLong and Clarke-Pearson (Biometrics 1988), on the logit,
    which keeps within 0 and 1. All NaN where one side is empty; limits are NaN of 0, of 1, and of a side of one sample."""
    positives, negatives = ranking.positives, ranking.negatives
    if not positives or not negatives:
        return Interval(math.nan, math.nan, math.nan)
    hits, alarms = (np.diff(each, prepend=0) for each in (ranking.hits, ranking.alarms))
    beaten = 1.0 - (ranking.alarms - alarms / 2.0) / negatives  # by the positives of each score, of the negatives
    missed = (ranking.hits - hits / 2.0) / positives  # above the negatives of each score, of the positives
    value = float(alarms @ missed) / negatives
    if positives == 1 or negatives == 1 or not 0.0 < value < 1.0:
        return Interval(value, math.nan, math.nan)
    spread = [
        float(counts @ np.square(placed - value)) / (counts.sum() - 1) / counts.sum()
        for counts, placed in ((hits, beaten), (alarms, missed))
    ]
    logit = math.log(value / (1.0 - value))
    half = NORMAL.inv_cdf(0.5 + LEVEL / 2.0) * math.sqrt(sum(spread)) / (value * (1.0 - value))
    return Interval(value, *(1.0 / (1.0 + math.exp(-(logit + side * half))) for side in (-1.0, 1.0)))


def stand_at(ranking: Ranking, threshold: float) -> Point:
    """Where samples that score at least the threshold are called positive."""
    count = int(np.searchsorted(-ranking.thresholds, -threshold, side="right"))
    hits, alarms = (int(each[count - 1]) if count else 0 for each in (ranking.hits, ranking.alarms))
    positives, negatives = ranking.positives, ranking.negatives
    return Point(
        threshold,
        hits,
        alarms,
        positives - hits,
        negatives - alarms,
        wilson(hits, hits + alarms),
        wilson(hits, positives),
        wilson(alarms, negatives),
        f1_of(hits, positives, hits + alarms),
    )
