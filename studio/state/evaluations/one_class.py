"""One class, or one label, against the rest: how likely it is for each sample, and what a threshold makes of that."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from studio.state.evaluations.selection import Mask
from training.predictions import Evaluation, EvaluationRecord

OUTCOMES = {
    "hits": "True positives",
    "alarms": "False positives",
    "misses": "False negatives",
    "rejections": "True negatives",
}
"""What can become of a sample, by its name in ``training.statistics.curves.Point``."""


class OneClass(NamedTuple):
    """For each sample its probability of being of the class, float64 (n,), and whether it is, bool (n,)."""

    probability: NDArray[np.float64]
    positive: Mask


def has_probabilities(record: EvaluationRecord) -> bool:
    """Whether such an evaluation tells how likely a class or a label is."""
    return record.target in ("class", "labels") and "scores" in record.columns


def oppose(evaluation: Evaluation, number: int) -> OneClass:
    """The class or label ``number`` against the rest. Where only the largest scores of a sample were kept, a class that is not among
    them has the probability 0."""
    target, scores = evaluation.column("target"), evaluation.column("scores")
    if evaluation.record.target == "labels":
        logits = np.asarray(scores[:, number], np.float64)
        return OneClass(squash(logits), np.asarray(target[:, number] > 0))
    positive = np.asarray(target == number)
    if not evaluation.has("classes"):
        return OneClass(find_probabilities(np.asarray(scores, np.float64))[:, number], positive)
    rows, columns = np.nonzero(evaluation.column("classes") == number)
    probability = np.zeros(len(target))
    probability[rows] = np.exp(scores[rows, columns] - np.float64(evaluation.column("log_sum")[rows]))
    return OneClass(probability, positive)


def find_probabilities(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Softmax of (n, classes)."""
    weights = np.exp(logits - logits.max(1, keepdims=True))
    return np.asarray(weights / weights.sum(1, keepdims=True))


def squash(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """The logistic function."""
    small = np.exp(-np.abs(logits))
    return np.asarray(np.where(logits >= 0, 1.0, small) / (1.0 + small))


def find_outcome(evaluation: Evaluation, *, number: int, threshold: float, outcome: str) -> Mask:
    """The samples that become an outcome, a key of ``OUTCOMES``, where a probability of at least ``threshold`` is a yes."""
    probability, positive = oppose(evaluation, number)
    called = probability >= threshold
    return np.asarray(
        (called if outcome in ("hits", "alarms") else ~called)
        & (positive if outcome in ("hits", "misses") else ~positive)
    )


def round_threshold(threshold: float) -> float:
    """As it is shown, written and used: four significant digits, between 0 and 1."""
    return float(f"{min(max(threshold, 0.0), 1.0):.4g}") if math.isfinite(threshold) else 1.0
