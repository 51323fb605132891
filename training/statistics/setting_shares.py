"""How much of the differences among runs' results goes along with each setting, by ranks alone: no model is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.statistics.ranks import rank

FEW_RUNS = 20
"""Below so many runs a share says little: with 20, one that is due to chance exceeds 0.2 once in twenty times."""
_SHUFFLES = 999


class Share(NamedTuple):
    """Of one setting. ``share``, 0 to 1, of the variance of the results' ranks; ``rank_correlation`` of a numeric setting, -1 to 1, None of
    others; ``chance``: how often shuffled results gave as large a share; ``n`` runs, ``values`` different values."""

    share: float
    rank_correlation: float | None
    chance: float
    n: int
    values: int


def measure_share(settings: Sequence[object], results: Sequence[float], seed: int = 0) -> Share | None:
    """The share of one setting, of runs with that value each and these results; None where there are fewer than 3 runs, or nothing
    differs. Runs that have no value (None) of a number are left out; of a choice it is one more.

    Of numbers it is the square of Spearman's rank correlation ("The proof and measurement of association between two things",
    1904); of all else the correlation ratio of the results' ranks, which is Kruskal's and Wallis's H over n - 1 ("Use of ranks in
    one-criterion variance analysis", 1952). From both is taken what chance alone gives on average, (k - 1) / (n - 1) for k groups,
    2 for numbers (Kelley, "An unbiased correlation ratio measure", 1935); below 0 they are 0. One setting at a time: what two
    do together is not seen, and settings that were changed together share what either did.
    """
    measured = np.asarray(results, np.float64)
    numeric = all(value is None or _is_number(value) for value in settings)
    kept = [at for at in np.flatnonzero(np.isfinite(measured)).tolist() if not (numeric and settings[at] is None)]
    values = [settings[at] for at in kept]
    ranks = rank(measured[kept])
    n = len(kept)
    different = len({repr(value) for value in values})
    if n < 3 or different < 2 or np.ptp(ranks) == 0:
        return None
    numbers = _as_numbers(values)
    by_chance = ((2 if numbers is not None else different) - 1) / (n - 1)
    generator = np.random.default_rng(seed)
    shuffled = np.array([ranks, *(generator.permutation(ranks) for _ in range(_SHUFFLES))])
    shuffled -= ranks.mean()
    total = float((shuffled[0] ** 2).sum())
    correlation = None
    if numbers is not None:
        places = rank(numbers) - (n + 1) / 2
        correlations = shuffled @ places / np.sqrt(total * (places**2).sum())
        correlation, raw = float(correlations[0]), correlations**2
    else:
        names = [repr(value) for value in values]
        groups = np.array([[name == other for other in names] for name in dict.fromkeys(names)], np.float64)
        raw = ((shuffled @ groups.T) ** 2 / groups.sum(1)).sum(1) / total
    share = max((raw[0] - by_chance) / (1 - by_chance), 0.0) if by_chance < 1 else 0.0
    chance = (1 + int((raw[1:] >= raw[0] - 1e-12).sum())) / (_SHUFFLES + 1)
    return Share(float(share), correlation, chance, n, different)


def _as_numbers(values: Sequence[object]) -> NDArray[np.float64] | None:
    return np.array(values, np.float64) if all(_is_number(value) for value in values) else None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))
