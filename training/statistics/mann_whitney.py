"""Whether one group of numbers lies below another."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from training.statistics.ranks import rank


def chance_of_lower(lower: NDArray[np.float64], higher: NDArray[np.float64]) -> float:
    """The one-sided p of the Mann-Whitney U test: how likely ``lower`` (n,) lies so far below ``higher`` (m,), or farther, by chance.
    Normal approximation with the correction for ties and for continuity (Mann and Whitney 1947), good from about eight of each."""
    n, m = len(lower), len(higher)
    both = np.concatenate([lower, higher])
    statistic = rank(both)[:n].sum() - n * (n + 1) / 2
    ties = np.unique(both, return_counts=True)[1]
    total = n + m
    variance = n * m / 12 * (total + 1 - float((ties**3 - ties).sum()) / (total * (total - 1)))
    if variance <= 0:
        return 1.0
    z = (statistic + 0.5 - n * m / 2) / math.sqrt(variance)
    return 0.5 * math.erfc(-z / math.sqrt(2))
