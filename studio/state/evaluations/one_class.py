"""One class, or one label, against the rest: how likely it is for each sample, and what a threshold makes of that."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from studio.state.evaluations.selection import Mask
from training.predictions import Evaluation
from training.statistics.logits import apply_softmax, squash

OUTCOMES = {
    "hits": "True positives",
    "alarms": "False positives",
    "misses": "False negatives",
    "rejections": "True negatives",
}
"""What can become of a sample, by its name in ``training.statistics.curves.Point``."""


class OneClass(NamedTuple):
    """For each sample its probability of being of the class, float64 (n,), whether it is, and whether it counts at all, bool (n,)."""

    probability: NDArray[np.float64]
    positive: Mask
    counted: Mask


@lru_cache(2)
def oppose(evaluation: Evaluation, number: int) -> OneClass:
    """The class or label ``number`` against the rest. Where only the largest scores of a sample were kept, a class that is not among
    them has the probability 0."""
    target, scores = evaluation.column("target"), evaluation.column("scores")
    if evaluation.record.target == "labels":
        logits = np.asarray(scores[:, number], np.float64)
        return OneClass(squash(logits), np.asarray(target[:, number] > 0), np.ones(len(target), np.bool_))
    positive, counted = np.asarray(target == number), np.asarray(target >= 0)
    if not evaluation.has("classes"):
        return OneClass(apply_softmax(np.asarray(scores, np.float64))[:, number], positive, counted)
    rows, columns = np.nonzero(evaluation.column("classes") == number)
    probability = np.zeros(len(target))
    probability[rows] = np.exp(scores[rows, columns] - np.float64(evaluation.column("log_sum")[rows]))
    return OneClass(probability, positive, counted)


def find_outcome(evaluation: Evaluation, *, number: int, threshold: float, outcome: str) -> Mask:
    """The samples that become an outcome, a key of ``OUTCOMES``, where a probability of at least ``threshold`` is a yes."""
    probability, positive, counted = oppose(evaluation, number)
    called = probability >= threshold
    is_called = called if outcome in ("hits", "alarms") else ~called
    return np.asarray(is_called & (positive if outcome in ("hits", "misses") else ~positive) & counted)


def round_threshold(threshold: float) -> float:
    """As it is shown, written and used: four significant digits, between 0 and 1."""
    return float(f"{min(max(threshold, 0.0), 1.0):.4g}") if math.isfinite(threshold) else 1.0
