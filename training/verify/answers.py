"""What a model's scores say, task by task, as NumPy arrays: what a proof compares, on either side of an export."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.statistics import metrics as of
from training.statistics.intervals import Metric
from training.statistics.logits import apply_softmax, squash
from training.statistics.ranking import discounted_gains

Array = NDArray[Any]


class Task(NamedTuple):
    """One of several targets: the columns of the scores from ``first`` to before ``last``; no classes of a number."""

    name: str
    classes: tuple[str, ...]
    first: int
    last: int


@dataclass(frozen=True)
class Answering:
    """How scores become answers. ``kind`` is that of ``model.json``'s output: "class", "labels", "values", "tasks", "mask", "tokens",
    "ranks" or "embedding".

    ``cutoffs`` are the logits from which on the second of two classes, or each label, is told; ``mean`` and ``std`` those of each
    column that was learned in such units; ``places`` the pixels or tokens whose scores are compared one by one, of all of which there would be too many.
    ``top``: how many places of a ranking count."""

    kind: str
    names: tuple[str, ...]
    probabilities: str = "none"
    temperature: float = 1.0
    cutoffs: tuple[float, ...] = ()
    tasks: tuple[Task, ...] = ()
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    places: tuple[int, ...] = ()
    top: int = 1

    def record(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return asdict(self)

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Answering:
        """Undo ``record``; raises TypeError or ValueError for what is none."""
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in record.items()
        }
        given["tasks"] = tuple(Task(name, tuple(classes), first, last) for name, classes, first, last in given["tasks"])
        return cls(**given)

    # ------------------------------------------------------------------------------------------ of some samples

    def pick(self, scores: Array) -> Array:
        """float32 (n, k): the scores that are compared one by one, values in the units that they were learned in."""
        count = len(scores)
        if self.kind == "mask":
            scores = scores.reshape(count, scores.shape[1], -1)[:, :, list(self.places)]
        if self.kind == "tokens":
            scores = scores[:, list(self.places)]
        scores = scores.reshape(count, -1)
        if self.std:
            scores = (scores.astype(np.float64) - np.asarray(self.mean)) / np.asarray(self.std)
        return scores.astype(np.float32)

    def decide(self, scores: Array) -> Array | None:
        """int32 (n, ...): the number of the class told, of each label 0 or 1, of a ranking the best item; None of what decides nothing."""
        if self.kind in ("values", "embedding"):
            return None
        if self.kind == "tasks":
            told = [_choose(scores[:, task.first : task.last]) for task in self.tasks if task.classes]
            return np.stack(told, 1) if told else None
        if self.cutoffs:
            reached = scores >= np.asarray(self.cutoffs, np.float32)
            return (reached if self.kind == "labels" else reached[:, 0]).astype(np.int32)
        if self.kind == "ranks":
            return scores.reshape(len(scores), -1).argmax(1).astype(np.int32)
        if self.kind == "tokens":
            return scores.argmax(-1).astype(np.int32)
        return _choose(scores)

    def find_margins(self, scores: Array) -> Array | None:
        """float32 of the form of ``decide``: by how much the score told is above the next, or on which side of its cutoff."""
        if self.kind in ("values", "embedding"):
            return None
        if self.kind == "tasks":
            found = [_margin(scores[:, task.first : task.last], 1) for task in self.tasks if task.classes]
            return np.stack(found, 1) if found else None
        if self.cutoffs:
            apart = np.abs(scores - np.asarray(self.cutoffs, np.float32))
            return apart if self.kind == "labels" else apart[:, 0]
        if self.kind == "ranks":
            return _margin(scores.reshape(len(scores), -1), 1)
        return _margin(scores, -1 if self.kind == "tokens" else 1)

    def find_chances(self, scores: Array) -> Array | None:
        """float32 (n, classes or labels): the probabilities at the temperature; None of other answers."""
        if self.kind not in ("class", "labels") or self.probabilities == "none":
            return None
        scores = scores.astype(np.float64) / self.temperature
        if self.probabilities == "softmax":
            return apply_softmax(scores).astype(np.float32)
        yes = squash(scores)
        return (yes if self.kind == "labels" else np.concatenate([1.0 - yes, yes], 1)).astype(np.float32)

    def take_terms(self, scores: Array, targets: Array) -> Array:
        """(n, ...): what the metrics of ``measure`` are made of, for each sample."""
        told = self.decide(scores)
        if self.kind == "class":
            assert told is not None
            return np.where(targets < 0, np.nan, told == targets).astype(np.float64)
        if self.kind == "labels":
            assert told is not None
            true, yes = targets > 0.5, told > 0
            return np.concatenate([true, yes, true & yes], 1).astype(np.int32)
        if self.kind == "mask":
            assert told is not None
            return _count_pixels(told, targets, max(2, scores.shape[1]))
        if self.kind == "tokens":
            return _sum_nats(scores, targets)
        if self.kind == "ranks":
            scores = np.where(np.isnan(targets), np.nan, scores.reshape(targets.shape))
            return discounted_gains(scores, targets, self.top)
        return scores.astype(np.float32)

    # --------------------------------------------------------------------------------------------------- of all

    def measure(self, terms: Array, targets: Array) -> dict[str, Metric]:
        """The metrics by their names, of the terms and the targets of all samples."""
        if self.kind == "class":
            return {"accuracy": of.mean(terms)}
        if self.kind == "ranks":
            return {"ndcg": of.mean(terms)}
        if self.kind == "tokens":
            return {"perplexity": of.perplexity(terms[:, 0], terms[:, 1])}
        if self.kind in ("labels", "mask"):
            support, told, right = np.split(terms.astype(np.int64), 3, axis=1)
            score, name = (of.f1, "f1") if self.kind == "labels" else (of.iou, "mean_iou")
            return {name: of.count_scores(support, told, right, score)}
        if self.kind == "embedding":
            return {"recall_at_1": of.mean(_find_neighbors(terms, targets))}
        if self.kind == "values":
            return {"rmse": of.rmse(terms, targets)}
        found: dict[str, Metric] = {}
        for number, task in enumerate(self.tasks):
            mine, true = terms[:, task.first : task.last], targets[:, number]
            if task.classes:
                found[f"{task.name}/accuracy"] = of.mean(_choose(mine) == true)
            else:
                found[f"{task.name}/rmse"] = of.rmse(mine[:, 0], true)
        return found


FALLING = ("rmse", "perplexity")
"""Metrics of which less is better."""


def _choose(scores: Array) -> Array:
    """int32 (n, ...) of scores (n, C, ...): of one score whether it is 0 or more."""
    return (scores.argmax(1) if scores.shape[1] > 1 else scores[:, 0] >= 0).astype(np.int32)


def _margin(scores: Array, axis: int) -> Array:
    if scores.shape[axis] == 1:
        return np.abs(np.take(scores, 0, axis)).astype(np.float32)
    best = np.partition(scores, -2, axis)
    return (np.take(best, -1, axis) - np.take(best, -2, axis)).astype(np.float32)


def _count_pixels(told: Array, targets: Array, classes: int) -> Array:
    """int32 (n, 3 classes): the pixels of each class, those told to be of it, and those rightly."""
    found = []
    for answer, truth in zip(told.reshape(len(told), -1), targets.reshape(len(told), -1), strict=True):
        counted = (truth >= 0) & (truth < classes)
        answer, truth = answer[counted], truth[counted].astype(np.int64)
        parts: Sequence[Array] = (truth, answer, truth[truth == answer])
        found.append(np.concatenate([np.bincount(part, minlength=classes) for part in parts]))
    return np.stack(found).astype(np.int32)


def _sum_nats(scores: Array, targets: Array) -> Array:
    """float64 (n, 2): the summed loss of the tokens that count, and their number."""
    wide = scores.astype(np.float64)
    high = wide.max(-1)
    log_sum = np.log(np.exp(wide - high[..., None]).sum(-1)) + high
    counted = targets >= 0
    own = np.take_along_axis(wide, np.where(counted, targets, 0)[..., None].astype(np.int64), -1)[..., 0]
    return np.stack([np.where(counted, log_sum - own, 0.0).sum(1), counted.sum(1)], 1)


def _find_neighbors(places: Array, targets: Array) -> Array:
    """float64 (n,): whether the nearest other sample is of the same class; NaN where no other one is."""
    wide = places.astype(np.float64)
    squares = np.square(wide).sum(1)
    apart = squares[:, None] + squares[None] - 2.0 * wide @ wide.T
    np.fill_diagonal(apart, np.inf)
    same = targets[:, None] == targets[None]
    alone = same.sum(1) < 2
    return np.where(alone, np.nan, targets[apart.argmin(1)] == targets)
