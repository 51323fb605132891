"""Metrics of ranked lists, one number for each query, to be averaged by ``training.statistics.metrics``.

``scores`` and ``targets`` are (queries, items), NaN for no item; a query whose items are all alike tells nothing and gives
NaN. Defined as in ``training.core.scores``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from training.statistics.intervals import Floats

PAIRS_AT_ONCE = 1 << 22


def discounted_gains(scores: NDArray[np.floating], targets: NDArray[np.floating], top: int) -> Floats:
    """NDCG over the first ``top`` places (Järvelin and Kekäläinen 2002; the rank itself, at least 0, is the gain), (queries,). Items
    of equal score share their places' mean."""
    items = scores.shape[1]
    discounts = (np.arange(items) < top) / np.log2(np.arange(items) + 2.0)
    reached = np.append(0.0, discounts.cumsum())
    found = np.empty(len(scores))
    for part, some, known, there in split_queries(scores, targets):
        gains = np.where(there, np.maximum(known, 0.0), 0.0)
        before = (some[:, None, :] > some[:, :, None]).sum(2)
        alike = (some[:, None, :] == some[:, :, None]).sum(2)
        mean_discount = (reached[before + alike] - reached[before]) / alike
        best = (-np.sort(-gains, axis=1) * discounts).sum(1)
        reachable = tell_apart(known, there) & (best > 0.0)
        found[part] = np.where(reachable, (gains * mean_discount).sum(1) / np.where(best > 0.0, best, 1.0), np.nan)
    return found


def reciprocal_ranks(scores: NDArray[np.floating], targets: NDArray[np.floating]) -> Floats:
    """1 / the place of the first of a query's most suitable items, behind all of equal score, (queries,)."""
    found = np.empty(len(scores))
    for part, some, known, there in split_queries(scores, targets):
        wanted = known == known.max(1, keepdims=True)
        highest = np.where(wanted, some, -np.inf).max(1, keepdims=True)
        places = 1 + (there & ~wanted & (some >= highest)).sum(1)
        found[part] = np.where(tell_apart(known, there), 1.0 / places, np.nan)
    return found


def ordered_pairs(scores: NDArray[np.floating], targets: NDArray[np.floating]) -> tuple[Floats, Floats]:
    """Pairs of a query's items that are in order, those of equal scores as half, and all pairs whose ranks differ, (queries,)."""
    in_order, pairs = np.empty(len(scores)), np.empty(len(scores))
    for part, some, known, there in split_queries(scores, targets):
        better = (known[:, :, None] > known[:, None, :]) & there[:, :, None] & there[:, None, :]
        ahead = (some[:, :, None] > some[:, None, :]) + 0.5 * (some[:, :, None] == some[:, None, :])
        in_order[part], pairs[part] = (ahead * better).sum((1, 2)), better.sum((1, 2))
    return in_order, pairs


def split_queries(
    scores: NDArray[np.floating], targets: NDArray[np.floating]
) -> Iterator[tuple[slice, Floats, Floats, NDArray[np.bool_]]]:
    """Some queries at a time: where they are, their scores and targets, -inf where there is no item, and where there is one."""
    size = max(1, PAIRS_AT_ONCE // max(1, scores.shape[1] ** 2))
    for start in range(0, len(scores), size):
        part = slice(start, start + size)
        known = np.asarray(targets[part], np.float64)
        there = ~np.isnan(known)
        yield part, np.where(there, scores[part], -np.inf).astype(np.float64), np.where(there, known, -np.inf), there


def tell_apart(known: Floats, there: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(queries,): whether the items that are there differ in rank."""
    return np.where(there, known, np.inf).min(1) < known.max(1)
