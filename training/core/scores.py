"""Metrics over all samples of a pass: what is gathered of them, and the scores that are functions of that.

Each score is a float64 tensor: one number, or one for each class, label, column or value, of which the plain mean over
those that are numbers is reported."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from training.core.losses import compare_items, split_answers, widen


@dataclass
class Metric(ABC):
    """Gathers batches on the device without waiting for it; ``scores`` are functions of what it gathered."""

    scores: Mapping[str, Callable[[Any], Tensor]]

    @abstractmethod
    def update(self, outputs: Tensor, targets: Tensor) -> None:
        """Take in one batch: what the model answered and the targets."""

    @abstractmethod
    def gather(self) -> Any:
        """What ``scores`` are functions of, on the CPU. Waits for the device."""

    def compute(self) -> dict[str, float]:
        """Each score by its name; NaN where nothing that was taken in tells it."""
        gathered = self.gather()
        return {name: average_known(score(gathered)) for name, score in self.scores.items()}


def average_known(values: Tensor) -> float:
    """Over those that are numbers; NaN where none is."""
    return values[~values.isnan()].mean().item()


def to_classes(targets: Tensor) -> Tensor:
    """int64 (n,): the class of each sample, of a mixed one, (n, classes), that it is most of."""
    return targets.argmax(1) if targets.is_floating_point() else targets


def true_classes(targets: Tensor, classes: int) -> Tensor:
    """The classes (n,) of targets that ``with_answers`` made."""
    return to_classes(split_answers(targets, classes)[0])


# -------------------------------------------------------------------------------------------- counts of each class


class Counts(NamedTuple):
    """float64 (classes,) or (labels,) each: how often it was there, was predicted, and was predicted rightly."""

    support: Tensor
    predicted: Tensor
    correct: Tensor


def accuracy(counts: Counts) -> Tensor:
    """The share of all that was predicted rightly."""
    return counts.correct.sum() / counts.support.sum()


def precision(counts: Counts) -> Tensor:
    """How many of those that were predicted to be of a class are of it; NaN where none was."""
    return counts.correct / counts.predicted


def recall(counts: Counts) -> Tensor:
    """How many of those of a class were predicted to be of it; NaN where none is."""
    return counts.correct / counts.support


def f1(counts: Counts) -> Tensor:
    """The harmonic mean of precision and recall, which is the Dice score; NaN for a class that was neither there nor
    predicted."""
    return 2.0 * counts.correct / (counts.support + counts.predicted)


def f1_micro(counts: Counts) -> Tensor:
    """F1 over all labels together."""
    return 2.0 * counts.correct.sum() / (counts.support.sum() + counts.predicted.sum())


def iou(counts: Counts) -> Tensor:
    """Intersection over union; NaN for a class that was neither there nor predicted."""
    return counts.correct / (counts.support + counts.predicted - counts.correct)


def score_second_class(counts: Counts, score: Callable[[Counts], Tensor]) -> Tensor:
    """The second class's ``score``."""
    return score(counts)[1]


@dataclass
class ClassMetrics(Metric):
    """Scores of ``Counts``. ``predict`` makes int64 class numbers of outputs, and ``truth`` of targets, of one shape; a
    target below 0 or of ``ignore_index`` counts nowhere."""

    classes: int
    device: torch.device
    predict: Callable[[Tensor], Tensor]
    truth: Callable[[Tensor], Tensor] = to_classes
    ignore_index: int = -100

    def __post_init__(self) -> None:
        self.counts = torch.zeros(3, self.classes, dtype=torch.int64, device=self.device)

    def update(self, outputs: Tensor, targets: Tensor) -> None:
        predicted, truth = self.predict(outputs).reshape(-1), self.truth(targets).reshape(-1)
        self.count(predicted, truth.clamp(min=0), ((truth >= 0) & (truth != self.ignore_index)).long())

    def count(self, predicted: Tensor, truth: Tensor, counted: Tensor) -> None:
        """Add up classes (n,), each times ``counted``, which is 0 or 1. Not by bincount, which waits for a GPU."""
        self.counts[0].index_add_(0, truth, counted)
        self.counts[1].index_add_(0, predicted, counted)
        self.counts[2].index_add_(0, truth, counted * (truth == predicted))

    def gather(self) -> Counts:
        return Counts(*self.counts.cpu().double())


def predict_class(outputs: Tensor) -> Tensor:
    """int64 (n, ...) of logits (n, classes, ...)."""
    return outputs.argmax(1)


def predict_positive(outputs: Tensor, threshold: float) -> Tensor:
    """int64, shaped as the logits ``outputs``: 1 where their probability is at least ``threshold``."""
    return (outputs.float() >= math.log(threshold) - math.log1p(-threshold)).long()


# ------------------------------------------------------------------------------------------------ shares and sums


@dataclass
class SummedMetrics(Metric):
    """Scores of sums over all batches: ``measure`` makes a batch's, some tensors, of outputs and targets."""

    measure: Callable[[Tensor, Tensor], tuple[Tensor, ...]]

    def __post_init__(self) -> None:
        self.parts: list[tuple[Tensor, ...]] = []

    def update(self, outputs: Tensor, targets: Tensor) -> None:
        self.parts.append(self.measure(outputs, targets))

    def gather(self) -> tuple[Tensor, ...]:
        return tuple(add_up(parts) for parts in zip(*self.parts, strict=True))


def add_up(parts: Sequence[Tensor]) -> Tensor:
    """The sum of tensors, one for each batch, in float64 on the CPU; waits for the device, once."""
    return torch.stack([*parts]).cpu().double().cumsum(0)[-1]


@dataclass
class LabelMetrics(SummedMetrics):
    """Scores of the ``Counts`` that ``measure`` makes."""

    def gather(self) -> Counts:
        return Counts(*super().gather())


def ratio(sums: Sequence[Tensor]) -> Tensor:
    """The first sum as a share of the second."""
    return sums[0] / sums[1]


def count_top5(outputs: Tensor, targets: Tensor, ignore_index: int = -100) -> tuple[Tensor, Tensor]:
    """Samples whose class is among the five of the largest logits, and all samples; those of ``ignore_index`` are
    none."""
    truth = to_classes(targets)
    counted = truth != ignore_index
    near = (outputs.topk(5, dim=1).indices == truth[:, None]).any(1)
    return (near & counted).sum(), counted.sum()


def count_agreement(outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Samples that get the class that the teacher gives them (``with_answers``), and all samples."""
    answers = split_answers(targets, outputs.shape[1])[1]
    return (outputs.argmax(1) == answers.argmax(1)).sum(), torch.tensor(len(targets))


def count_labels(outputs: Tensor, targets: Tensor, threshold: float) -> tuple[Tensor, Tensor, Tensor]:
    """Of logits (n, labels) and targets of 0 and 1: how often each label was there, was predicted, and rightly."""
    predicted, truth = predict_positive(outputs, threshold), (targets > 0.5).long()
    return truth.sum(0), predicted.sum(0), (predicted * truth).sum(0)


def count_subsets(outputs: Tensor, targets: Tensor, threshold: float) -> tuple[Tensor, Tensor]:
    """Samples of which every label is right, and all samples."""
    right = (predict_positive(outputs, threshold) == (targets > 0.5)).all(1)
    return right.sum(), torch.tensor(len(targets))


def count_tokens(outputs: Tensor, targets: Tensor, ignore_index: int = -100) -> tuple[Tensor, Tensor]:
    """Places (n, T) whose token has the largest of the logits (n, T, tokens), and all places."""
    return (outputs.argmax(-1) == targets).sum(), (targets != ignore_index).sum()


def sum_nats(outputs: Tensor, targets: Tensor, ignore_index: int = -100) -> tuple[Tensor, Tensor]:
    """The cross-entropy of logits (n, T, tokens), in nats, and the places (n, T)."""
    logits, tokens = widen(outputs).flatten(0, -2), targets.flatten()
    nats = functional.cross_entropy(logits, tokens, ignore_index=ignore_index, reduction="sum")
    return nats, (tokens != ignore_index).sum()


def perplexity(sums: Sequence[Tensor]) -> Tensor:
    """e to the mean of nats."""
    nats = ratio(sums).item()
    value = math.inf if nats >= 700.0 else math.exp(nats)  # beyond that no number is large enough
    return torch.tensor(value, dtype=torch.float64)


def bits(sums: Sequence[Tensor]) -> Tensor:
    """The mean of nats in bits."""
    return ratio(sums) / math.log(2.0)


# ------------------------------------------------------------------------------------------------------- orders


def sum_discounted_gains(outputs: Tensor, targets: Tensor, top: int) -> tuple[Tensor, Tensor]:
    """NDCG of scores (n, items) or (n, items, 1) and ranks (n, items), NaN for no item, summed over queries, and the
    queries.

    Each item's rank (below 0: as 0) / log2(1 + its place), over the first ``top`` places, as a share of the best
    order's (Järvelin and Kekäläinen, 2002, with the rank itself as gain). Items of equal score share their places'
    mean. Queries whose items are all alike, or have no rank above 0, tell nothing and are left out."""
    scores, there = widen(outputs).reshape(targets.shape), ~targets.isnan()
    places = torch.arange(scores.shape[1], device=scores.device)
    discounts = (places < top) / torch.log2(places + 2.0)
    reached = torch.cat([discounts.new_zeros(1), discounts.cumsum(0)])
    gains = torch.where(there, targets, torch.zeros_like(targets)).clamp(min=0.0).to(scores.dtype)
    scores = scores.masked_fill(~there, -torch.inf)
    before = (scores[:, None, :] > scores[:, :, None]).sum(2)
    alike = (scores[:, None, :] == scores[:, :, None]).sum(2)
    mean_discount = (reached[before + alike] - reached[before]) / alike
    best = (gains.sort(dim=1, descending=True).values * discounts).sum(1)
    found = (gains * mean_discount).sum(1) / best
    usable = compare_items(targets).any(2).any(1) & found.isfinite()
    return torch.where(usable, found, torch.zeros_like(found)).sum(), usable.sum()


def sum_reciprocal_ranks(outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """1 / the place of the first of a query's most suitable items, behind all of equal score, summed over the queries
    whose items are not all alike, and these."""
    scores, there = widen(outputs).reshape(targets.shape), ~targets.isnan()
    known = targets.masked_fill(~there, -torch.inf)
    wanted = known == known.amax(1, keepdim=True)
    highest = scores.masked_fill(~wanted, -torch.inf).amax(1, keepdim=True)
    found = 1.0 / (1 + (there & ~wanted & (scores >= highest)).sum(1))
    telling = compare_items(targets).any(2).any(1)
    return torch.where(telling, found, torch.zeros_like(found)).sum(), telling.sum()


def count_ordered_pairs(outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Pairs of a query's items that are in order, one of equal scores as half, and all pairs."""
    scores, better = widen(outputs).reshape(targets.shape), compare_items(targets)
    ahead = scores[:, :, None] - scores[:, None, :]
    in_order = ((ahead > 0).to(scores.dtype) + 0.5 * (ahead == 0)) * better
    return in_order.sum(), better.sum()
