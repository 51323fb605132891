"""What a number that depends on the order of all samples owes to each of them: its derivative by how often the sample counts."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Levels(NamedTuple):
    """The distinct values of (n,) numbers, upward, and at which of them each is."""

    values: NDArray[np.floating]
    place: NDArray[np.intp]

    def add_up(self, amounts: NDArray[np.floating | np.bool_]) -> Floats:
        """The sum of the amounts (n,) at each level."""
        return np.bincount(self.place, amounts, minlength=len(self.values)).astype(np.float64)


def find_levels(numbers: NDArray[np.floating]) -> Levels:
    """NaN is the highest level."""
    return Levels(*np.unique(numbers, return_inverse=True))


def place_between(scores: NDArray[np.floating], positive: NDArray[np.bool_]) -> tuple[float, Floats]:
    """The area under the ROC curve, and how much each sample's placement exceeds it, (n,): the share of the negatives below a
    positive, or of the positives above a negative, equal ones as half. NaN and zeros where one side is empty."""
    positives = int(positive.sum())
    negatives = len(scores) - positives
    if not positives or not negatives:
        return math.nan, np.zeros(len(scores))
    levels = find_levels(scores)
    here = levels.add_up(positive)
    others = levels.add_up(~positive)
    below = (others.cumsum() - others / 2.0) / negatives
    above = 1.0 - (here.cumsum() - here / 2.0) / positives
    area = float((here * below).sum() / positives)
    return area, np.where(positive, below[levels.place], above[levels.place]) - area


def weigh_precisions(scores: NDArray[np.floating], positive: NDArray[np.bool_]) -> tuple[float, Floats]:
    """The average precision and each sample's influence on it, (n,); NaN and zeros where one side is empty."""
    positives = int(positive.sum())
    if not positives or positives == len(scores):
        return math.nan, np.zeros(len(scores))
    levels = find_levels(scores)
    here = levels.add_up(positive)
    hits, alarms = (amounts[::-1].cumsum()[::-1] for amounts in (here, levels.add_up(~positive)))
    counted = hits + alarms
    precisions = hits / counted
    mean = float((here * precisions).sum() / positives)
    # One more of a level is one more among all that score at least as much as each lower one.
    gains, losses = ((here * other / np.square(counted)).cumsum() for other in (alarms, hits))
    influences = np.where(positive, (precisions - mean + gains)[levels.place], -losses[levels.place])
    return mean, influences / positives


def correlate_ranks(left: NDArray[np.floating], right: NDArray[np.floating]) -> tuple[float, Floats]:
    """Spearman's correlation and each sample's influence on it, (n,); NaN and zeros where one side never changes."""
    sides = [find_levels(each) for each in (left, right)]
    ranks = [rank(side) for side in sides]
    variances = [float(np.square(each).sum()) for each in ranks]
    if not all(variances):
        return math.nan, np.zeros(len(left))
    scale = math.sqrt(variances[0] * variances[1])
    value = float((ranks[0] * ranks[1]).sum() / scale)
    covariance = ranks[0] * ranks[1] + raise_above(sides[0], ranks[1]) + raise_above(sides[1], ranks[0])
    own = [np.square(each) + 2.0 * raise_above(side, each) for side, each in zip(sides, ranks, strict=True)]
    return value, covariance / scale - value / 2.0 * (own[0] / variances[0] + own[1] / variances[1])


def rank(levels: Levels) -> Floats:
    """(n,) ranks about their mean; those of equal numbers are their mean rank."""
    here = levels.add_up(np.ones(len(levels.place)))
    ranks = (here.cumsum() - here / 2.0)[levels.place]
    return ranks - ranks.mean()


def raise_above(levels: Levels, amounts: Floats) -> Floats:
    """(n,): the amounts (n,) of all samples whose rank one more of this sample would raise: by 1 those above, by half its equals."""
    here = levels.add_up(amounts)
    return (here.sum() - here.cumsum() + here / 2.0)[levels.place]
