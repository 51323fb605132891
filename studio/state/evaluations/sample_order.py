"""In which order samples are listed: the worst first, the best, any, the most confused, the most unsure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.predictions import Evaluation

Keys = NDArray[np.floating]


def _by_loss(evaluation: Evaluation) -> Keys:
    return np.asarray(evaluation.column("loss"), np.float64)


def _by_chance(evaluation: Evaluation) -> Keys:
    return np.random.default_rng(evaluation.record.seed).permutation(evaluation.record.samples).astype(np.float64)


def _by_confusion(evaluation: Evaluation) -> Keys:
    """By how much the wrong class was held to be likelier than the true one; 0 of what is right."""
    log_sum = evaluation.column("log_sum")
    best = np.exp(np.max(evaluation.column("scores"), axis=1) - log_sum)
    wrong = evaluation.column("prediction") != evaluation.column("target")
    return np.where(wrong, best - np.exp(evaluation.column("target_score") - log_sum), 0.0)


def _by_margin(evaluation: Evaluation) -> Keys:
    """By how much the likeliest class was held to be likelier than the second."""
    scores = evaluation.column("scores")
    two = np.partition(scores, -2, axis=1)[:, -2:] if scores.shape[1] > 1 else np.repeat(scores, 2, axis=1)
    return np.asarray(np.exp(two - np.asarray(evaluation.column("log_sum"))[:, None]) @ np.array([-1.0, 1.0]))


def _by_nearest_label(evaluation: Evaluation) -> Keys:
    """By the logit of the label that was nearest to being given, or not."""
    return np.asarray(np.abs(evaluation.column("scores")).min(axis=1))


def _by_probability(evaluation: Evaluation) -> Keys:
    return np.asarray(evaluation.column("probability").min(axis=1))


class SampleOrder(NamedTuple):
    """One order. ``tip`` says by what; ``find`` gives a number for each sample, ``falling`` whether the largest is first."""

    key: str
    title: str
    tip: str
    falling: bool
    columns: tuple[str, ...]
    find: Callable[[Evaluation], Keys]


_LOSS = ("loss",)
ORDERS = (
    SampleOrder("worst", "Worst first", "The largest loss first", True, _LOSS, _by_loss),
    SampleOrder("best", "Best first", "The smallest loss first", False, _LOSS, _by_loss),
    SampleOrder("random", "Random", "In a random order that stays the same", False, (), _by_chance),
    SampleOrder(
        "confused",
        "Most confused",
        "First where a wrong class was held to be much likelier than the true one",
        True,
        ("scores", "log_sum", "target_score", "prediction", "target"),
        _by_confusion,
    ),
    SampleOrder(
        "unsure",
        "Most unsure",
        "First where the two likeliest classes are nearly as likely as each other",
        False,
        ("scores", "log_sum"),
        _by_margin,
    ),
    SampleOrder(
        "nearest",
        "Most unsure",
        "First where a label was nearly given, or nearly not",
        False,
        ("scores", "target"),
        _by_nearest_label,
    ),
    SampleOrder(
        "improbable", "Most unsure", "The least probable prediction first", False, ("probability",), _by_probability
    ),
)
_BY_KEY: Mapping[str, SampleOrder] = {order.key: order for order in ORDERS}
_OF_LABELS = "nearest"


def orders_of(evaluation: Evaluation) -> list[SampleOrder]:
    """The orders in which these samples can be listed."""
    record = evaluation.record
    return [
        order
        for order in ORDERS
        if set(order.columns) <= set(record.columns)
        and (order.key != _OF_LABELS or record.target == "labels")
        and (order.columns != _LOSS or record.has_losses)
    ]


def sort_samples(evaluation: Evaluation, key: str) -> NDArray[np.int64]:
    """All samples in the order ``key``, (n,), those without a number for it at the end; equal ones stay in the order of the evaluation."""
    order = _BY_KEY[key]
    keys = order.find(evaluation)
    return np.argsort(-keys if order.falling else keys, kind="stable")
