"""Which of two evaluations of the same samples is better, and whether these samples can show it."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.statistics.intervals import LEVEL, RESAMPLES, Floats, Interval, Metric, Weights, bootstrap

ALPHA = 1.0 - LEVEL


class Comparison(NamedTuple):
    """What B scores more than A, and the chance of differing so much without a difference where McNemar's test tells it."""

    difference: Interval
    chance: float | None = None

    @property
    def differs(self) -> bool:
        """Whether the interval leaves out 0, and McNemar's test, where there is one, agrees."""
        certain = self.difference.low > 0.0 or self.difference.high < 0.0
        return certain and (self.chance is None or self.chance < ALPHA)


def compare(
    first: Metric,
    second: Metric,
    groups: NDArray[np.integer] | None = None,
    seed: int = 0,
    resamples: int = RESAMPLES,
    chance: float | None = None,
) -> Comparison:
    """By the paired bootstrap: the difference of B, the ``second``, to A, the ``first``, of the same resamples of the samples that
    both were made of, in the same order. ``chance`` is what ``mcnemar`` says, for accuracies without groups."""
    return Comparison(bootstrap(subtract(first, second), groups, seed, resamples), chance)


def subtract(first: Metric, second: Metric) -> Metric:
    """What B, the ``second``, scores more than A."""
    if first.samples != second.samples:
        raise ValueError(
            f"A is of {first.samples} samples and B of {second.samples}: only the same samples can be compared"
        )
    parts = first.sums().shape[1]

    def gather(weights: Weights) -> Floats:
        return np.concatenate([first.gather(weights), second.gather(weights)], axis=1)

    return Metric(first.samples, gather, lambda sums: second.score(sums[:, parts:]) - first.score(sums[:, :parts]))


def mcnemar(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> float:
    """The chance that A and B, right about samples as bool (n,) tell, would differ at least so much if neither were better: the
    exact two-sided test (Q. McNemar, 1947) of how the samples that only one of them is right about are shared."""
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    trials = only_first + only_second
    fewer = min(only_first, only_second)
    if fewer * 2 == trials:
        return 1.0
    logs = [
        math.lgamma(trials + 1) - math.lgamma(k + 1) - math.lgamma(trials - k + 1) - trials * math.log(2.0)
        for k in range(fewer + 1)
    ]
    return min(1.0, 2.0 * math.fsum(map(math.exp, logs)))


def describe_difference(
    comparison: Comparison,
    samples: int,
    first: str = "A",
    second: str = "B",
    lower_is_better: bool = False,
    points: bool = True,
    unit: str = "samples",
) -> str:
    """ "B is better by 0.8 points (0.2 to 1.4)", or "no difference that these 1,200 samples can show".

    ``first`` and ``second`` are the names of A and B; ``points``: the metric is a rate, told in points of a hundred. ``samples``
    and ``unit`` say of how many of what (samples, queries, sequences, groups) the resamples were."""
    if not comparison.differs:
        return f"no difference that these {samples:,} {unit} can show"
    value, low, high = (each * (100.0 if points else 1.0) for each in comparison.difference)
    raised = value > 0.0
    if not raised:
        value, low, high = -value, -high, -low
    better = second if raised != lower_is_better else first
    digits = count_digits(low, high)
    number, least, most = (f"{each:,.{digits}f}" for each in (value, low, high))
    return f"{better} is better by {number}{' points' if points else ''} ({least} to {most})"


def count_digits(low: float, high: float) -> int:
    """How many decimals tell limits apart to a tenth of their distance, and the lower one from 0 with at most two more."""
    width = max(0, 1 - math.floor(math.log10(high - low if high > low else high)))
    return max(width, min(-math.floor(math.log10(low)), width + 2))
