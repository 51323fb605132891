"""One pass over samples without training."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager

import torch
from torch import Tensor, nn

from training.core.losses import Loss
from training.core.scores import Metric, add_up


class MetricSet:
    """The loss and the metrics over all samples of a pass, gathered on the device without waiting for it."""

    def __init__(self, loss: Loss, metrics: Sequence[Metric]) -> None:
        self.loss, self.metrics = loss, metrics
        self.sums: list[Tensor] = []
        self.weights: list[Tensor] = []

    @torch.no_grad()
    def update(self, outputs: Tensor, targets: Tensor) -> None:
        """Take in one batch."""
        self.sums.append(self.loss.sum(outputs, targets))
        self.weights.append(torch.as_tensor(self.loss.weigh(targets)))
        for metric in self.metrics:
            metric.update(outputs, targets)

    def compute(self) -> dict[str, float]:
        """The loss and each score by its name; waits for the device.

        All are NaN where the sum of losses is: a class and an order can be read from answers that are no numbers, too,
        and a model that fell apart would look like one that guesses."""
        total = add_up(self.sums)
        found = {"loss": self.loss.combine(total / add_up(self.weights)).item()}
        for metric in self.metrics:
            found |= metric.compute()
        return dict.fromkeys(found, math.nan) if total.isnan().any() else found


@torch.inference_mode()
def evaluate(
    model: nn.Module,
    loss: Loss,
    metrics: Sequence[Metric],
    batches: Iterable[tuple[Tensor, Tensor]],
    *,
    autocast: Callable[[], AbstractContextManager[object]],
) -> dict[str, float]:
    """The loss and the metrics over all samples of ``batches`` (inputs, targets), not the mean over batches: the last may be
    short. Leaves the model in evaluation mode."""
    model.eval()
    found = MetricSet(loss, metrics)
    for inputs, targets in batches:
        with autocast():
            outputs = model(inputs)
        found.update(outputs, targets)
    return found.compute()
