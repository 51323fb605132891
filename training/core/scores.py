"""Metrics over all samples of an evaluation: what is measured of each batch, and the score that follows from all."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from training.core.losses import compare_items, split_answers, widen


def add_up(parts: Sequence[float | Tensor]) -> Tensor:
    """The sum of what all batches gave, in float64 on the CPU; the first to wait for the device."""
    return torch.stack([torch.as_tensor(part) for part in parts]).cpu().double().cumsum(0)[-1]


class Metric(NamedTuple):
    """``score`` of what ``measure`` makes of each batch, brought together by ``gather``: the mean of what numbers that gives.
    ``prepare`` does to all of it what several scores have in common."""

    measure: Callable[[Tensor, Tensor], tuple[Tensor, ...]]
    score: Callable[..., Tensor] = torch.div
    gather: Callable[..., Tensor] = add_up
    prepare: Callable[..., tuple[Tensor, ...]] | None = None

    def compute(self, measured: Iterable[Sequence[Tensor]]) -> float:
        gathered = map(self.gather, measured)
        values = self.score(*(self.prepare(*gathered) if self.prepare else gathered))
        return values[~values.isnan()].mean().item()


# --------------------------------------------------------------------------------------------- shares of all samples


def count_correct(outputs: Tensor, targets: Tensor, ignore_index: int = -100) -> tuple[Tensor, Tensor]:
    """Samples or tokens whose class has the largest of the logits (..., classes), and all of them."""
    counted = targets != ignore_index
    return ((outputs.argmax(-1) == targets) & counted).sum(), counted.sum()


def count_top5(outputs: Tensor, targets: Tensor, ignore_index: int = -100) -> tuple[Tensor, Tensor]:
    """Samples whose class is among the five of the largest logits (n, classes), and all of them."""
    counted = targets != ignore_index
    return ((outputs.topk(5).indices == targets[:, None]).any(1) & counted).sum(), counted.sum()


def count_learned(outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Samples whose class has the largest logit, and all of them; targets are those that ``with_answers`` makes."""
    return count_correct(outputs, split_answers(targets, outputs.shape[1])[0])


def count_agreed(outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Samples that get the class that the teacher gives them, and all of them."""
    return count_correct(outputs, split_answers(targets, outputs.shape[1])[1].argmax(1))


def count_exact(outputs: Tensor, targets: Tensor, threshold: float) -> tuple[Tensor, Tensor]:
    """Samples of which every label is told rightly, and all of them: logits (n, labels) and targets of 0 and 1."""
    right = (exceed(outputs, threshold) == (targets.view_as(outputs) > 0.5)).all(1)
    return right.sum(), torch.tensor(len(targets))


def exceed(logits: Tensor, threshold: float) -> Tensor:
    """Whether the probability is at least ``threshold``."""
    return logits.float() >= math.log(threshold) - math.log1p(-threshold)


def sum_nats(outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """The cross-entropy of logits (n, T, tokens) in nats, and how many tokens (n, T) there are."""
    nats = functional.cross_entropy(widen(outputs).flatten(0, -2), targets.flatten(), reduction="sum")
    return nats, (targets != -100).sum()


def perplexity(nats: Tensor, tokens: Tensor) -> Tensor:
    """e to the mean of nats; infinite where no number is large enough."""
    mean = (nats / tokens).item()
    return torch.tensor(math.inf if mean >= 700.0 else math.exp(mean), dtype=torch.float64)


def bits_per_token(nats: Tensor, tokens: Tensor) -> Tensor:
    """The mean of nats, in bits."""
    return nats / tokens / math.log(2.0)


# -------------------------------------------------------------------------------------------- counts of each class


def count_classes(
    outputs: Tensor, targets: Tensor, classes: int, predict: Callable[[Tensor], Tensor], ignore_index: int = -100
) -> tuple[Tensor, Tensor, Tensor]:
    """int64 (classes,): how often each class was there, was predicted, and was predicted rightly. ``predict`` makes class
    numbers of the outputs, as many as there are targets; those of negative targets are not counted."""
    predicted, truth = predict(outputs).reshape(-1), targets.reshape(-1)
    counted = ((truth >= 0) & (truth != ignore_index)).long()
    numbers = torch.cat([truth.clamp(min=0), predicted + classes, truth.clamp(min=0) + 2 * classes])
    ones = torch.cat([counted, counted, counted * (truth == predicted)])
    counts = torch.zeros(3 * classes, dtype=torch.int64, device=truth.device)
    # Not by bincount, which asks a GPU how many numbers there are and waits for the answer.
    support, guesses, correct = counts.index_add_(0, numbers, ones).view(3, classes)
    return support, guesses, correct


def predict_class(outputs: Tensor) -> Tensor:
    """The class of the largest of the logits (n, classes, ...)."""
    return outputs.argmax(1)


def predict_second(outputs: Tensor) -> Tensor:
    """1 where the second class is the likelier one, by its logit (n, 1, ...)."""
    return (outputs >= 0).long()


def count_labels(outputs: Tensor, targets: Tensor, threshold: float) -> tuple[Tensor, Tensor, Tensor]:
    """As ``count_classes``, of labels: logits (n, labels) and targets of 0 and 1."""
    predicted, truth = exceed(outputs, threshold), targets.view_as(outputs) > 0.5
    return truth.sum(0), predicted.sum(0), (predicted & truth).sum(0)


def accuracy(support: Tensor, predicted: Tensor, correct: Tensor) -> Tensor:
    """The share of all that was predicted rightly."""
    return correct.sum() / support.sum()


def precision(support: Tensor, predicted: Tensor, correct: Tensor) -> Tensor:
    """How many of those that were predicted to be of a class are of it; NaN where none was."""
    return correct / predicted


def recall(support: Tensor, predicted: Tensor, correct: Tensor) -> Tensor:
    """How many of those of a class were predicted to be of it; NaN where none is."""
    return correct / support


def f1(support: Tensor, predicted: Tensor, correct: Tensor) -> Tensor:
    """The harmonic mean of precision and recall, which is the Dice score; NaN for a class neither there nor predicted."""
    return 2.0 * correct / (support + predicted)


def f1_micro(support: Tensor, predicted: Tensor, correct: Tensor) -> Tensor:
    """F1 over all labels together."""
    return f1(support.sum(), predicted.sum(), correct.sum())


def iou(support: Tensor, predicted: Tensor, correct: Tensor) -> Tensor:
    """Intersection over union; NaN for a class neither there nor predicted."""
    return correct / (support + predicted - correct)


# ------------------------------------------------------------------------------------------------------- orders


def sum_discounted_gains(outputs: Tensor, targets: Tensor, top: int) -> tuple[Tensor, Tensor]:
    """NDCG of scores (n, items) or (n, items, 1) and ranks (n, items), NaN for no item, summed over queries, and how many.

    Each item's rank (below 0: as 0) / log2(1 + its place), over the first ``top`` places, as a share of the best
    order's (Järvelin and Kekäläinen, 2002, with the rank itself as gain). Items of equal score share their places'
    mean. Queries whose items are all alike, or have no rank above 0, tell nothing and are left out."""
    scores, there = widen(outputs).reshape(targets.shape), ~targets.isnan()
    places = torch.arange(scores.shape[1], dtype=scores.dtype, device=scores.device)
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
    """1 / the place of the first of a query's most suitable items, behind all of equal score, summed over the queries whose
    items are not all alike, and how many."""
    scores, there = widen(outputs).reshape(targets.shape), ~targets.isnan()
    known = targets.masked_fill(~there, -torch.inf)
    wanted = known == known.amax(1, keepdim=True)
    highest = scores.masked_fill(~wanted, -torch.inf).amax(1, keepdim=True)
    found = 1.0 / (1 + (there & ~wanted & (scores >= highest)).sum(1)).to(scores.dtype)
    telling = compare_items(targets).any(2).any(1)
    return torch.where(telling, found, torch.zeros_like(found)).sum(), telling.sum()


def count_ordered_pairs(outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """Pairs of a query's items that are in order, one of equal scores as half, and all pairs."""
    scores, better = widen(outputs).reshape(targets.shape), compare_items(targets)
    ahead = scores[:, :, None] - scores[:, None, :]
    in_order = ((ahead > 0).to(scores.dtype) + 0.5 * (ahead == 0)) * better
    return in_order.sum(), better.sum()
