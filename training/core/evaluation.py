"""One pass over samples without training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from training.core.losses import Loss
from training.core.scores import Metric, add_up


@torch.inference_mode()
def evaluate(model: nn.Module, batches: Any, loss: Loss, metric: Metric, autocast: Any) -> tuple[float, float]:
    """Loss and metric over all samples of ``batches`` (inputs, targets): the mean over batches would err, the last is short."""
    model.eval()
    parts = []
    for inputs, targets in batches:
        with autocast():
            outputs = model(inputs)
        parts.append(measure_batch(outputs, targets, loss, metric))
    return bring_together(parts, loss, metric)


def measure_batch(outputs: Tensor, targets: Tensor, loss: Loss, metric: Metric) -> tuple[Any, ...]:
    """What ``bring_together`` needs of a batch."""
    return loss.sum(outputs, targets), loss.weigh(targets), *metric.measure(outputs, targets)


def bring_together(parts: Sequence[tuple[Any, ...]], loss: Loss, metric: Metric) -> tuple[float, float]:
    """Loss and metric over all samples, from what ``measure_batch`` found."""
    sums, weights, *measured = zip(*parts, strict=True)
    total, score = add_up(sums), metric.compute(measured)
    # A score can be read from answers that are no numbers, too, and would look like a guess.
    return loss.mean(total, add_up(weights)).item(), math.nan if total.isnan().any() else score
