"""Metrics that need all answers of a pass at once: of values, and over all thresholds of a probability."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from training.core.scores import Metric, to_classes

# ------------------------------------------------------------------------------------------------------- values


class Values(NamedTuple):
    """What was answered and what is true, float64 (n, values)."""

    outputs: Tensor
    targets: Tensor


@dataclass
class ValueMetrics(Metric):
    """Scores of ``Values``: float64, because sums of squares of numbers far from 0 would lose their digits."""

    def __post_init__(self) -> None:
        self.outputs: list[Tensor] = []
        self.targets: list[Tensor] = []

    def update(self, outputs: Tensor, targets: Tensor) -> None:
        self.outputs.append(outputs.float())
        self.targets.append(targets)

    def gather(self) -> Values:
        return Values(torch.cat(self.outputs).cpu().double(), torch.cat(self.targets).cpu().double())


@dataclass
class StandardizedValueMetrics(ValueMetrics):
    """The same, in their own unit, of a model that answers in standard deviations ``std`` from the ``mean``."""

    mean: Sequence[float]
    std: Sequence[float]

    def gather(self) -> Values:
        outputs, targets = super().gather()
        mean, std = torch.tensor([self.mean, self.std], dtype=torch.float64)
        return Values(outputs * std + mean, targets)


def r2(values: Values) -> Tensor:
    """1 - squared errors / squared distances from the mean of the targets; NaN where these are all alike."""
    outputs, targets = values
    spread = (targets - targets.mean(0)).square().sum(0)
    return torch.where(spread > 0, 1.0 - (outputs - targets).square().sum(0) / spread, math.nan)


def rmse(values: Values) -> Tensor:
    """The root of the mean squared error."""
    return ((values.outputs - values.targets).square().sum(0) / len(values.targets)).sqrt()


def mae(values: Values) -> Tensor:
    """The mean absolute error."""
    return (values.outputs - values.targets).abs().mean(0)


def spearman(values: Values) -> Tensor:
    """Pearson's correlation of the ranks; NaN where one side never changes."""
    left, right = (ranks - ranks.mean(0) for ranks in map(rank_columns, values))
    return (left * right).sum(0) / (left.square().sum(0) * right.square().sum(0)).sqrt()


def rank_columns(values: Tensor) -> Tensor:
    """float64 (n, values) from 1 on, column by column; those of equal numbers are their mean rank."""
    columns = []
    for column in values.unbind(1):
        _, place, counts = torch.unique(column, return_inverse=True, return_counts=True)
        last = counts.cumsum(0).double()
        columns.append((last - (counts - 1) / 2.0)[place])
    return torch.stack(columns, dim=1)


# ------------------------------------------------------------------------------------------------------- curves


class Curve(NamedTuple):
    """int64 (points,) each, from the highest threshold down: how many that are true, and that are not, lie above it."""

    true_positives: Tensor
    false_positives: Tensor


@dataclass
class CurveMetrics(Metric):
    """Scores of a ``Curve`` for each column of probabilities.

    ``probabilities`` makes them of logits, (n, columns); ``truth`` makes of all of these and the targets those that
    count, and what is true, bool of that shape."""

    probabilities: Callable[[Tensor], Tensor]
    truth: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]

    def __post_init__(self) -> None:
        self.outputs: list[Tensor] = []
        self.targets: list[Tensor] = []

    def update(self, outputs: Tensor, targets: Tensor) -> None:
        self.outputs.append(self.probabilities(outputs.float()))
        self.targets.append(targets)

    def gather(self) -> list[Curve]:
        columns = self.truth(torch.cat(self.outputs), torch.cat(self.targets))
        return [trace_curve(*column) for column in zip(*(each.T.contiguous() for each in columns), strict=True)]


def trace_curve(scores: Tensor, truth: Tensor) -> Curve:
    """The curve of scores (n,) and what is true, bool (n,)."""
    order = torch.argsort(scores, descending=True)
    scores, truth = scores[order], truth[order].long()
    changes = torch.where(scores[1:] - scores[:-1])[0]  # a threshold lies between two scores that differ
    ends = functional.pad(changes, [0, 1], value=len(truth) - 1)
    true_positives = functional.pad(truth.cumsum(0), [1, 0])[ends + 1]
    return Curve(true_positives, 1 + ends - true_positives)


def auroc(curves: Sequence[Curve]) -> Tensor:
    """The area under the receiver operating characteristic; NaN for a column that is never or always true."""
    areas = []
    for curve in curves:
        hits, alarms = (functional.pad(counts, [1, 0]) / counts[-1] for counts in curve)
        areas.append(torch.trapz(hits, alarms).item())
    return torch.tensor(areas, dtype=torch.float64)


def average_precision(curves: Sequence[Curve]) -> Tensor:
    """The mean of the precisions, by how much recall each adds; NaN for a column that is never or always true."""
    found = []
    for hits, alarms in curves:
        precision, recall = (hits / (hits + alarms)).flip(0), functional.pad((hits / hits[-1]).flip(0), [0, 1])
        mean = -((recall[1:] - recall[:-1]) * precision).sum()
        found.append(mean.item() if alarms[-1] else math.nan)
    return torch.tensor(found, dtype=torch.float64)


def compare_second_class(probabilities: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """(n, 1) and whether it is the second class; targets int64 (n,)."""
    return probabilities, to_classes(targets)[:, None] == 1


def compare_labels(probabilities: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """(n, labels) and whether each is carried; targets (n, labels) of 0 and 1."""
    return probabilities, targets > 0.5


def compare_classes(probabilities: Tensor, targets: Tensor, ignore_index: int = -100) -> tuple[Tensor, Tensor]:
    """(n, classes) and each class against the rest; targets int64 (n,)."""
    truth = to_classes(targets)
    counted = truth != ignore_index
    classes = torch.arange(probabilities.shape[1], device=truth.device)
    return probabilities[counted], truth[counted][:, None] == classes
