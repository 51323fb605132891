"""Metrics that need all answers of an evaluation at once: of values, and over all thresholds of a probability."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor
from torch.nn import functional

# ------------------------------------------------------------------------------------------------------- values


def keep_values(outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """(n, values) each."""
    return outputs.float(), targets


def score_values(
    *both: Tensor, score: Callable[..., Tensor], mean: Sequence[float] = (0,), std: Sequence[float] = (1,)
) -> Tensor:
    """The ``score`` of outputs, in standard deviations ``std`` from the ``mean``, and targets, both (n, values): in float64, for
    sums of squares of numbers far from 0 would lose their digits."""
    outputs, targets = (each.cpu().double() for each in both)
    center, spread = torch.tensor([mean, std], dtype=torch.float64)
    return score(outputs * spread + center, targets)


def r2(outputs: Tensor, targets: Tensor) -> Tensor:
    """1 - squared errors / squared distances from the mean of the targets; NaN where these are all alike."""
    spread = (targets - targets.mean(0)).square().sum(0)
    return torch.where(spread > 0, 1.0 - (outputs - targets).square().sum(0) / spread, math.nan)


def rmse(outputs: Tensor, targets: Tensor) -> Tensor:
    """The root of the mean squared error."""
    return ((outputs - targets).square().sum(0) / len(targets)).sqrt()


def mae(outputs: Tensor, targets: Tensor) -> Tensor:
    """The mean absolute error."""
    return (outputs - targets).abs().mean(0)


def spearman(outputs: Tensor, targets: Tensor) -> Tensor:
    """Pearson's correlation of the ranks; NaN where one side never changes."""
    left, right = (ranks - ranks.mean(0) for ranks in map(rank_columns, (outputs, targets)))
    return (left * right).sum(0) / (left.square().sum(0) * right.square().sum(0)).sqrt()


def rank_columns(values: Tensor) -> Tensor:
    """float64 (n, values) from 1 on, column by column; those of equal numbers are their mean rank."""
    columns = []
    for column in values.unbind(1):
        _, place, counts = torch.unique(column, return_inverse=True, return_counts=True)
        last = counts.cumsum(0).double()
        columns.append((last - (counts - 1) / 2.0)[place])
    return torch.stack(columns, dim=1)


# ---------------------------------------------------------------------------------------------------- embeddings

PAIRS_AT_ONCE = 1 << 22
"""Pairs of samples compared at a time: matrices of 16 MB as float32, however many samples there are."""


def keep_embeddings(outputs: Tensor, targets: Tensor, unit: bool = False) -> tuple[Tensor, Tensor]:
    """(n, size), divided by their lengths where ``unit``, and the classes; of several views the first."""
    first = outputs[: len(targets)].float()
    return functional.normalize(first, dim=1) if unit else first, targets


def compare_with_all(embeddings: Tensor, targets: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """For some samples after the others: how near all are to them, float32 (some, n), and which are of their class. Nearness
    falls with the Euclidean distance, -inf for the sample itself; of unit length it orders as the cosine does."""
    points = embeddings - embeddings.mean(0)
    lengths, numbers = points.square().sum(1), torch.arange(len(points), device=points.device)
    for some in numbers.split(max(1, PAIRS_AT_ONCE // len(points))):
        itself = some[:, None] == numbers
        near = (2.0 * points[some] @ points.T - lengths).masked_fill(itself, -torch.inf)
        yield near, (targets[some][:, None] == targets) & ~itself


def count_nearer(embeddings: Tensor, targets: Tensor) -> tuple[Tensor]:
    """int64 (n,): how many of other classes are nearer to a sample than the nearest of its own, -1 where there is no other of its
    class. One that is just as near counts as nearer, so embeddings that are all alike retrieve nothing."""
    found = []
    for near, same in compare_with_all(embeddings, targets):
        best = near.masked_fill(~same, -torch.inf).amax(1, keepdim=True)
        nearer = ((near >= best) & ~same & near.isfinite()).sum(1)
        found.append(torch.where(same.any(1), nearer, -1))
    return (torch.cat(found),)


def recall_at(nearer: Tensor, k: int) -> Tensor:
    """(n,): 1 for a sample that has one of its class among its k nearest others, else 0; NaN where there is no other of its
    class. ``nearer`` is what ``count_nearer`` finds."""
    return torch.where(nearer < 0, math.nan, (nearer < k).float())


def retrieval_precision(embeddings: Tensor, targets: Tensor) -> Tensor:
    """(n,): the average precision of a sample's list of all others, the nearest first; NaN where there is none of its class.
    Those that are equally near stand at the end of their row."""
    found = []
    for near, same in compare_with_all(embeddings, targets):
        hits = near.masked_fill(~same, -torch.inf)
        ranks, right = (len(targets) - torch.searchsorted(all_.sort(1).values, near) for all_ in (near, hits))
        precisions = torch.where(same, right / ranks, torch.zeros_like(near)).sum(1) / same.sum(1)
        found.append(precisions)  # 0 / 0 where there is none
    return torch.cat(found)


# ------------------------------------------------------------------------------------------------------- curves


def keep_probabilities(
    outputs: Tensor, targets: Tensor, probabilities: Callable[[Tensor], Tensor]
) -> tuple[Tensor, Tensor]:
    """(n, columns), as ``probabilities`` makes them of logits, and the targets."""
    return probabilities(outputs.float()), targets


def auroc(probabilities: Tensor, targets: Tensor, compare: Callable[..., tuple[Tensor, Tensor]]) -> Tensor:
    """The area under the receiver operating characteristic, (columns,); NaN for a column never or always true.

    ``compare`` makes of all probabilities and targets those that count, and what is true, bool of that shape."""
    return measure_columns(*compare(probabilities, targets), measure=roc_area)


def average_precision(probabilities: Tensor, targets: Tensor, compare: Callable[..., tuple[Tensor, Tensor]]) -> Tensor:
    """The mean of the precisions, by how much recall each adds, (columns,); NaN for a column never or always true."""
    return measure_columns(*compare(probabilities, targets), measure=mean_precision)


def measure_columns(scores: Tensor, truth: Tensor, measure: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """float64 (columns,)"""
    columns = zip(scores.T.contiguous(), truth.T.contiguous(), strict=True)
    return torch.tensor([measure(*count_above(*column)).item() for column in columns], dtype=torch.float64)


def count_above(scores: Tensor, truth: Tensor) -> tuple[Tensor, Tensor]:
    """int64 (thresholds,): how many of the true and of the others score at least each threshold, from the highest down."""
    order = torch.argsort(scores, descending=True)
    scores, truth = scores[order], truth[order].long()
    changes = torch.where(scores[1:] - scores[:-1])[0]  # a threshold lies between two scores that differ
    ends = functional.pad(changes, [0, 1], value=len(truth) - 1)
    hits = functional.pad(truth.cumsum(0), [1, 0])[ends + 1]
    return hits, 1 + ends - hits


def roc_area(hits: Tensor, alarms: Tensor) -> Tensor:
    """By the trapezoidal rule."""
    found, wrong = (functional.pad(counts, [1, 0]) / counts[-1] for counts in (hits, alarms))
    return torch.trapz(found, wrong)


def mean_precision(hits: Tensor, alarms: Tensor) -> Tensor:
    """The sum of the steps in recall, each times the precision there."""
    precisions, recalls = (hits / (hits + alarms)).flip(0), functional.pad((hits / hits[-1]).flip(0), [0, 1])
    mean = -((recalls[1:] - recalls[:-1]) * precisions).sum()
    return torch.where(alarms[-1] > 0, mean, math.nan)


def compare_second(probabilities: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """(n, 1) and whether it is the second class; targets int64 (n,)."""
    return probabilities, targets[:, None] == 1


def compare_labels(probabilities: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """(n, labels) and whether each is carried; targets of 0 and 1."""
    return probabilities, targets > 0.5


def compare_classes(probabilities: Tensor, targets: Tensor, ignore_index: int = -100) -> tuple[Tensor, Tensor]:
    """(n, classes) and each class against the rest; targets int64 (n,)."""
    counted = targets != ignore_index
    classes = torch.arange(probabilities.shape[1], device=targets.device)
    return probabilities[counted], targets[counted][:, None] == classes
