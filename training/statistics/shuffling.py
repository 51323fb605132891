"""What a metric loses where the values of a column were shuffled among the samples (permutation importance), with all that it owes to
chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from training.statistics.intervals import Floats, Metric, Weights
from training.statistics.metrics import gather_sums


def find_drop(
    plain: Metric,
    shuffled: Sequence[Metric],
    orders: Sequence[NDArray[np.integer]],
    rises: bool,
    owners: NDArray[np.integer] | None = None,
) -> Metric:
    """What ``plain`` is better than ``shuffled``: than what all of them amount to together, where a metric is one of sums, else than
    their mean. ``rises``: a higher number is a better one.

    ``orders`` (rows,) tell of each shuffled row from which one it has its value, ``owners`` (rows,) whose row each is, where a sample
    has several (the items of a query); every sample has one otherwise.

    An answer after shuffling hangs on the sample that is asked about and on those whose values it was given. Sums change with how often
    either counts, to first order, as those of a V-statistic do: of the latter by what the values changed. Without it the intervals
    are too narrow."""
    sign, known = 1.0 if rises else -1.0, [each.terms for each in shuffled if each.terms is not None]
    if plain.terms is not None and len(known) == len(shuffled):
        mixed: Floats = np.mean(known, axis=0, dtype=np.float64)
        terms = np.concatenate([plain.terms, mixed + find_gifts(plain.terms, known, orders, owners)], axis=1)
        parts, gather = [plain, plain], gather_sums(terms)
    else:
        parts = [plain, *shuffled]

        def gather(weights: Weights) -> Floats:
            return np.concatenate([each.gather(weights) for each in parts], axis=1)

    widths = np.cumsum([each.sums().shape[1] for each in parts])[:-1]

    def score(sums: Floats) -> Floats:
        first, *others = (each.score(part) for each, part in zip(parts, np.split(sums, widths, axis=1), strict=True))
        return sign * (first - np.mean(others, axis=0))

    return Metric(plain.samples, gather, score)


def find_gifts(
    plain: NDArray[np.floating | np.integer],
    shuffled: Sequence[NDArray[np.floating | np.integer]],
    orders: Sequence[NDArray[np.integer]],
    owners: NDArray[np.integer] | None,
) -> Floats:
    """(samples, k): by how much the terms (samples, k) of all samples rise where the values of a sample are given once more.

    What several values changed in a sample is no single one's doing. Those of m givers add up by their squares, so each is taken to
    have changed it by a part of 1 / sqrt(m): tried out (``tests.benchmarks.coverage``) between all of it, which is far too much, and
    1 / m, which is too little."""
    taker = np.arange(len(plain)) if owners is None else owners
    gifts = np.bincount(taker, minlength=len(plain))
    given, part = np.zeros(plain.shape), len(shuffled) * np.sqrt(np.maximum(gifts, 1))[:, None]
    for each, order in zip(shuffled, orders, strict=True):
        changed = np.subtract(each, plain, dtype=np.float64) / part
        np.add.at(given, taker[order], changed[taker])
    return given - (gifts / len(taker))[:, None] * given.sum(0)
