"""How sure the model was of each sample, at a temperature, and whether it came true."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from studio.state.evaluations.one_class import oppose
from studio.state.evaluations.selection import Mask
from training.predictions import Evaluation, EvaluationRecord
from training.predictions.probabilities import gather_logits
from training.statistics.logits import apply_softmax, squash

_KEPT = 4
"""Temperatures and labels whose confidences are kept: a click asks for what is shown."""


class Confidences(NamedTuple):
    """float64 (n,), what came true and what counts, bool (n,)."""

    values: NDArray[np.float64]
    correct: Mask
    counted: Mask


def describe_confidence(record: EvaluationRecord, number: int) -> str:
    """What the confidence is of; ``number`` is a label's."""
    if record.target == "labels" or len(record.names) == 2:
        return f"Probability of “{record.names[number if record.target == 'labels' else 1]}”"
    return "Probability of the predicted class"


@lru_cache(_KEPT)
def find_confidences(evaluation: Evaluation, number: int, temperature: float) -> Confidences:
    """Of several classes the probability of the likeliest one and whether it is right; of two classes, and of the label ``number``,
    that of the second and whether it is true. Logits are divided by ``temperature``."""
    record = evaluation.record
    if record.target == "labels":
        logits = np.asarray(evaluation.column("scores")[:, number], np.float64)
        return Confidences(squash(logits / temperature), *oppose(evaluation, number)[1:])
    logits, targets, multiplicity = gather_logits(evaluation)
    counted = targets >= 0
    if len(record.names) == 2:
        return Confidences(squash((logits[:, 1] - logits[:, 0]) / temperature), targets == 1, counted)
    kept = logits[:, : evaluation.column("scores").shape[1]]
    likeliest = kept.argmax(1)
    chances = apply_softmax(logits / temperature, multiplicity)
    return Confidences(chances[np.arange(len(chances)), likeliest], targets == likeliest, counted)


def find_between(
    evaluation: Evaluation, *, number: int, temperature: float, low: float, high: float, closed: bool
) -> Mask:
    """The samples whose confidence lies between; ``closed``: at ``high``, too."""
    values, _, counted = find_confidences(evaluation, number, temperature)
    return np.asarray((values >= low) & ((values <= high) if closed else (values < high)) & counted)
