"""Metrics of each sample alone: the IoU of an image, the NDCG of a query."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.predictions import Evaluation, EvaluationRecord
from training.statistics.ranking import discounted_gains, ordered_pairs, reciprocal_ranks

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
_KEPT = 2
"""Of each figure: what is chosen by it asks for it again at every step of the mouse."""


class SampleFigure(NamedTuple):
    """One of them, from 0 to 1; ``find`` gives (n,), NaN for a sample that has none. ``number`` is the class it is of."""

    key: str
    title: str
    metric: str
    find: Callable[[Evaluation], Floats]
    number: int | None = None


def list_figures(record: EvaluationRecord) -> list[SampleFigure]:
    """What is measured of each sample of such an evaluation."""
    if record.target == "mask":
        mean = SampleFigure("mean", "Mean IoU of the classes", "mean_iou", find_mean_ious)
        each = [
            SampleFigure(name, name, "mean_iou", partial(find_ious, number=number), number)
            for number, name in enumerate(record.names)
        ]
        return [mean, *each]
    if record.target == "ranks":
        return [
            SampleFigure("ndcg", "NDCG of all places", "ndcg", _find_gains),
            SampleFigure("mrr", "Reciprocal rank", "mrr", _find_reciprocal_ranks),
            SampleFigure("pairs", "Pairs in order", "pair_accuracy", _find_ordered_pairs),
        ]
    return []


@lru_cache(_KEPT)
def find_ious(evaluation: Evaluation, number: int) -> Floats:
    """The IoU of a class in each image, (n,); NaN where it is neither true nor predicted."""
    correct = np.asarray(evaluation.column("correct")[:, number], np.float64)
    union = evaluation.column("support")[:, number] + evaluation.column("predicted")[:, number] - correct
    return np.divide(correct, union, out=np.full(len(correct), np.nan), where=union > 0)


@lru_cache(_KEPT)
def find_mean_ious(evaluation: Evaluation) -> Floats:
    """The mean IoU of the classes that are in each image, (n,)."""
    each = _find_all_ious(evaluation)
    there = ~np.isnan(each)
    count = there.sum(1)
    return np.divide(np.where(there, each, 0.0).sum(1), count, out=np.full(len(each), np.nan), where=count > 0)


def find_worst(evaluation: Evaluation, *, number: int) -> Mask:
    """The images in which no class has a lower IoU than this one, (n,); one that is told without a fault is no worst."""
    own = find_ious(evaluation, number)
    return (own <= _find_least_ious(evaluation)) & (own < 1.0)


@lru_cache(_KEPT)
def _find_least_ious(evaluation: Evaluation) -> Floats:
    return np.fmin.reduce(_find_all_ious(evaluation), 1)


def _find_all_ious(evaluation: Evaluation) -> Floats:
    return np.stack([find_ious(evaluation, number) for number in range(len(evaluation.record.names))], 1)


@lru_cache(_KEPT)
def _find_gains(evaluation: Evaluation) -> Floats:
    scores = evaluation.column("scores")
    return discounted_gains(scores, evaluation.column("target"), scores.shape[1])


@lru_cache(_KEPT)
def _find_reciprocal_ranks(evaluation: Evaluation) -> Floats:
    return reciprocal_ranks(evaluation.column("scores"), evaluation.column("target"))


@lru_cache(_KEPT)
def _find_ordered_pairs(evaluation: Evaluation) -> Floats:
    right, pairs = ordered_pairs(evaluation.column("scores"), evaluation.column("target"))
    return np.divide(right, pairs, out=np.full(len(right), np.nan), where=pairs > 0)
