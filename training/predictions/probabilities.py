"""How likely an evaluation's classes or labels were held to be, and the temperature at which that fits what is true."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.errors import InputError
from training.predictions.reading import Evaluation
from training.predictions.record import EvaluationRecord
from training.statistics.calibration import Unfittable, fit_temperature, gather_rest
from training.statistics.curves import rank_scores
from training.statistics.logits import find_cutoff, squash
from training.system.untrusted import escape_unprintable

THRESHOLDS = 1e-6, 1.0 - 1e-6
"""The least threshold there is, and the greatest."""


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
    """The temperature at which what was answered fits what is true (``fit_temperature``). Raises InputError where none can be
    fitted."""
    if not has_probabilities(evaluation.record):
        raise InputError(f"{evaluation.folder}: its answers are no probabilities, so no temperature fits them.")
    values, targets, multiplicity = gather_logits(evaluation)
    counted = targets >= 0
    if not counted.any():
        raise InputError(f"{evaluation.folder}: no sample of it counts, so no temperature fits them.")
    try:
        return fit_temperature(values[counted], targets[counted], multiplicity)
    except Unfittable as error:
        raise InputError(
            f"On the {evaluation.record.on} part {error}: no temperature can be fitted. Leave the probabilities as they are, or give a "
            "temperature as a number."
        ) from error


def has_threshold(task: str) -> bool:
    """Whether the answers of such a task (``EvaluationRecord.task``) depend on a threshold."""
    return task in ("binary", "multi_label")


def find_thresholds(evaluation: Evaluation) -> tuple[float, ...]:
    """The probability with the largest F1 among the samples: one of a binary task, one for each label. Halfway to the next smaller
    probability there is, so that no answer hangs on a rounding. Raises InputError where there is none."""
    record = evaluation.record
    if not has_threshold(record.task) or not has_probabilities(record):
        raise InputError(f"{evaluation.folder}: its answers depend on no threshold, so none can be found.")
    scores, target = np.asarray(evaluation.column("scores"), np.float64), np.asarray(evaluation.column("target"))
    if record.target == "class":
        counted = target >= 0
        scores, target = (scores[counted, 1] - scores[counted, 0])[:, None], target[counted, None]
    return tuple(
        _find_threshold(chances, positive, name)
        for chances, positive, name in zip(
            squash(scores).T, (target > 0).T, record.names[-scores.shape[1] :], strict=True
        )
    )


def _find_threshold(chances: NDArray[np.float64], positive: NDArray[np.bool_], name: str) -> float:
    ranking = rank_scores(chances, positive)
    if not ranking.positives or not ranking.negatives:
        raise InputError(
            f"The samples hold {'no' if not ranking.positives else 'nothing but'} {escape_unprintable(name, 60)}, so no threshold "
            "can be found for it; give one as a number."
        )
    best = int(np.argmax(2.0 * ranking.hits / (ranking.positives + ranking.hits + ranking.alarms)))
    below = ranking.thresholds[best + 1] if best + 1 < len(ranking.thresholds) else 0.0
    return float(np.clip((ranking.thresholds[best] + below) / 2.0, *THRESHOLDS))


def reach_threshold(logits: NDArray[np.floating], threshold: float) -> NDArray[np.bool_]:
    """Whether the probability of each label is at least ``threshold``, between 0 and 1: in float32, as ``core.scores.exceed``."""
    return np.asarray(logits.astype(np.float32) >= np.float32(find_cutoff(threshold)))
