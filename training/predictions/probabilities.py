"""How likely an evaluation's classes or labels were held to be, and the temperature at which that fits what is true."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.errors import InputError
from training.predictions.reading import Evaluation
from training.predictions.record import EvaluationRecord
from training.statistics.calibration import fit_temperature, gather_rest


class Logits(NamedTuple):
    """float64 (n, columns), the column of each target, intp (n,), and how many equal logits each column stands for (None: one)."""

    values: NDArray[np.float64]
    targets: NDArray[np.intp]
    multiplicity: NDArray[np.float64] | None


def has_probabilities(record: EvaluationRecord) -> bool:
    """Whether such an evaluation tells how likely a class or a label is."""
    return record.target in ("class", "labels") and "scores" in record.columns


def gather_logits(evaluation: Evaluation) -> Logits:
    """Of the classes; where only the largest were kept, the last column stands for all others. Of labels (0, logit), label by label of
    each sample. A sample that does not count has the target -1."""
    scores = np.asarray(evaluation.column("scores"), np.float64)
    target = np.asarray(evaluation.column("target"))
    if evaluation.record.target == "labels":
        logits = scores.ravel()
        return Logits(np.stack([np.zeros(len(logits)), logits], 1), (target.ravel() > 0).astype(np.intp), None)
    if not evaluation.has("classes"):
        return Logits(scores, target.astype(np.intp), None)
    values, multiplicity = gather_rest(scores, evaluation.column("log_sum"), len(evaluation.record.names))
    is_it = evaluation.column("classes") == target[:, None]
    columns = np.where(is_it.any(1), is_it.argmax(1), scores.shape[1])
    return Logits(values, np.where(target < 0, -1, columns).astype(np.intp), multiplicity)


def find_temperature(evaluation: Evaluation) -> float:
    """The temperature at which what was answered fits what is true (``fit_temperature``). Raises InputError where nothing is to be
    fitted."""
    if not has_probabilities(evaluation.record):
        raise InputError(f"{evaluation.folder}: its answers are no probabilities, so no temperature fits them.")
    values, targets, multiplicity = gather_logits(evaluation)
    counted = targets >= 0
    if not counted.any():
        raise InputError(f"{evaluation.folder}: no sample of it counts, so no temperature fits them.")
    return fit_temperature(values[counted], targets[counted], multiplicity)


def apply_softmax(logits: NDArray[np.float64], multiplicity: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Probabilities of (n, columns); of each of the equal logits that a column stands for."""
    weights = np.exp(logits - logits.max(1, keepdims=True))
    total = weights.sum(1) if multiplicity is None else weights @ multiplicity
    return np.asarray(weights / total[:, None])


def reach_threshold(logits: NDArray[np.floating], threshold: float) -> NDArray[np.bool_]:
    """Whether the probability of each label is at least ``threshold``, between 0 and 1: in float32, as ``core.scores.exceed``."""
    return np.asarray(logits.astype(np.float32) >= np.float32(math.log(threshold) - math.log1p(-threshold)))


def squash(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """The logistic function."""
    small = np.exp(-np.abs(logits))
    return np.asarray(np.where(logits >= 0, 1.0, small) / (1.0 + small))
