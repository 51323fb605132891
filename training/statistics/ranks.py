"""Ranks, and how far two columns of numbers rise together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def rank(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """The place of each from 1 on; equal ones share the mean of their places."""
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks: NDArray[np.float64] = (ends - (counts - 1) / 2)[where]
    return ranks


def rank_correlation(left: NDArray[np.number], right: NDArray[np.number]) -> float:
    """Spearman's, of the rows that have both numbers, three at the least; 0 where one of them is always the same."""
    known = np.isfinite(left) & np.isfinite(right)
    if known.sum() < 3:
        return 0.0
    ranks = [rank(values[known].astype(np.float64)) for values in (left, right)]
    if any(each.std() == 0 for each in ranks):
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])
