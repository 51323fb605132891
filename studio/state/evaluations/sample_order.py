"""In which order samples are listed: the worst first, the best, any, the most confused, the most unsure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from studio.state.evaluations.neighbors import measure_misplacement
from training.predictions import Evaluation
from training.statistics.logits import find_cutoff
from training.statistics.metrics import divide, iou, mean_known

Keys = NDArray[np.floating]


class SampleOrder(NamedTuple):
    """One order. ``tip`` says by what; ``find`` gives a number for each sample, ``falling`` whether the largest is first. It takes the
    ``columns`` of an evaluation."""

    key: str
    title: str
    tip: str
    falling: bool
    columns: tuple[str, ...]
    find: Callable[[Evaluation], Keys]


def _by_loss(evaluation: Evaluation) -> Keys:
    return np.asarray(evaluation.column("loss"), np.float64)


def _by_chance(evaluation: Evaluation) -> Keys:
    return np.random.default_rng(evaluation.record.seed).permutation(evaluation.record.samples).astype(np.float64)


def _by_confusion(evaluation: Evaluation) -> Keys:
    """By how much the wrong class was held to be likelier than the true one; 0 of what is right."""
    log_sum = evaluation.column("log_sum")
    best = np.exp(np.max(evaluation.column("scores"), axis=1) - log_sum)
    target = evaluation.column("target")
    wrong = (evaluation.column("prediction") != target) & (target >= 0)
    return np.where(wrong, best - np.exp(evaluation.column("target_score") - log_sum), 0.0)


def _by_margin(evaluation: Evaluation) -> Keys:
    """By how much the likeliest class was held to be likelier than the second."""
    scores = evaluation.column("scores")
    two = np.partition(scores, -2, axis=1)[:, -2:] if scores.shape[1] > 1 else np.repeat(scores, 2, axis=1)
    return np.asarray(np.exp(two - np.asarray(evaluation.column("log_sum"))[:, None]) @ np.array([-1.0, 1.0]))


def _pass_threshold(evaluation: Evaluation) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """By how much the logit of each label, or of the second of two classes, passes the threshold, and whether it should."""
    scores, target = np.asarray(evaluation.column("scores"), np.float64), np.asarray(evaluation.column("target"))
    if evaluation.record.target == "class":
        scores, target = scores[:, 1:] - scores[:, :1], target[:, None]
    return scores - find_cutoff(evaluation.record.threshold), target > 0


def _by_wrong_label(evaluation: Evaluation) -> Keys:
    passed, truth = _pass_threshold(evaluation)
    return np.asarray(np.where(truth, -passed, passed).max(axis=1))


def _by_nearest_label(evaluation: Evaluation) -> Keys:
    return np.asarray(np.abs(_pass_threshold(evaluation)[0]).min(axis=1))


def _by_wrong_target(evaluation: Evaluation) -> Keys:
    """By the probability of the likeliest wrong class; 0 where all are right."""
    probability = np.nan_to_num(evaluation.column("probability"))
    return np.asarray(np.where(evaluation.column("prediction") != evaluation.column("target"), probability, 0.0).max(1))


def _by_probability(evaluation: Evaluation) -> Keys:
    """The least of the targets that are classes; NaN where none is."""
    return np.asarray(np.fmin.reduce(evaluation.column("probability"), axis=1))


def _by_overlap(evaluation: Evaluation) -> Keys:
    """The mean IoU of the classes that the image shows or that were found in it."""
    return mean_known(iou(*(np.asarray(evaluation.column(name), np.float64) for name in _AREAS)))


def _by_wrong_pixels(evaluation: Evaluation) -> Keys:
    support, _, correct = (np.asarray(evaluation.column(name), np.float64).sum(1) for name in _AREAS)
    return divide(support - correct, support)


def _by_unsure_place(evaluation: Evaluation) -> Keys:
    return np.abs(measure_misplacement(evaluation))


def _by_worst_token(evaluation: Evaluation) -> Keys:
    return np.nanmax(np.asarray(evaluation.column("token_loss"), np.float32), axis=1)


_AREAS = ("support", "predicted", "correct")
_LOSS, _CHANCES = ("loss",), ("scores", "log_sum")
_BY_LOSS = (
    SampleOrder("worst", "Worst first", "The largest loss first", True, _LOSS, _by_loss),
    SampleOrder("best", "Best first", "The smallest loss first", False, _LOSS, _by_loss),
)
_EMBEDDING = ("embedding", "target")
_BY_PLACE = (
    SampleOrder(
        "worst",
        "Worst first",
        "First where the center of another class is nearer by the most than that of its own",
        True,
        _EMBEDDING,
        measure_misplacement,
    ),
    SampleOrder(
        "best",
        "Best first",
        "First where the center of its own class is nearer by the most than that of another",
        False,
        _EMBEDDING,
        measure_misplacement,
    ),
)
_RANDOM = SampleOrder("random", "Random", "In a random order that stays the same", False, (), _by_chance)
_OF_SCORES = ("scores", "target")


def _by_confused(tip: str, columns: tuple[str, ...], find: Callable[[Evaluation], Keys]) -> SampleOrder:
    return SampleOrder("confused", "Most confused", tip, True, columns, find)


def _by_unsure(tip: str, columns: tuple[str, ...], find: Callable[[Evaluation], Keys]) -> SampleOrder:
    return SampleOrder("unsure", "Most unsure", tip, False, columns, find)


_OF_TARGETS: Mapping[str, tuple[SampleOrder, ...]] = {
    "class": (
        _by_confused(
            "First where a wrong class was held to be much likelier than the true one",
            (*_CHANCES, "target_score", "prediction", "target"),
            _by_confusion,
        ),
        _by_unsure("First where the two likeliest classes are nearly as likely as each other", _CHANCES, _by_margin),
    ),
    "binary": (
        _by_confused(
            "First where the probability is far on the wrong side of the threshold", _OF_SCORES, _by_wrong_label
        ),
        _by_unsure("First where the probability is nearest to the threshold", _OF_SCORES, _by_nearest_label),
    ),
    "labels": (
        _by_confused("First where a label is far on the wrong side of the threshold", _OF_SCORES, _by_wrong_label),
        _by_unsure("First where a label was nearly given, or nearly not", _OF_SCORES, _by_nearest_label),
    ),
    "tasks": (
        _by_confused(
            "First where a wrong class was held to be the most probable",
            ("probability", "prediction", "target"),
            _by_wrong_target,
        ),
        _by_unsure("The least probable prediction first", ("probability",), _by_probability),
    ),
    "mask": (
        SampleOrder(
            "overlap", "Least IoU", "The least mean IoU of an image's classes first", False, _AREAS, _by_overlap
        ),
        _by_confused("First where the most pixels are taken for another class", _AREAS, _by_wrong_pixels),
    ),
    "embedding": (
        _by_unsure(
            "First where the centers of two classes, its own among them, are nearly as near as each other",
            _EMBEDDING,
            _by_unsure_place,
        ),
    ),
    "tokens": (
        SampleOrder(
            "token", "Worst token", "First where a single token cost the most", True, ("token_loss",), _by_worst_token
        ),
    ),
}
"""What else fits what is to be learned. How sure a network was of pixels, tokens and values is not kept."""
FIRST = _BY_LOSS[0].key


def orders_of(evaluation: Evaluation) -> list[SampleOrder]:
    """The orders in which these samples can be listed."""
    record = evaluation.record
    places = "embedding" in record.columns
    kind = "embedding" if places else "binary" if record.task == "binary" else record.target
    by_loss = _BY_LOSS if record.has_losses else ()
    orders = [*(_BY_PLACE if places else by_loss), _RANDOM, *_OF_TARGETS.get(kind, ())]
    return [order for order in orders if set(order.columns) <= set(record.columns)]


def sort_samples(evaluation: Evaluation, key: str) -> NDArray[np.int64]:
    """All samples in the order ``key``, (n,), those without a number for it at the end; equal ones stay in the order of the evaluation."""
    order = next(order for order in orders_of(evaluation) if order.key == key)
    keys = order.find(evaluation)
    return np.argsort(-keys if order.falling else keys, kind="stable")
