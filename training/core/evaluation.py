"""One pass over samples without training."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

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
        parts.append((loss.sum(outputs, targets), loss.weigh(targets), *metric.measure(outputs, targets)))
    sums, weights, *measured = zip(*parts, strict=True)
    total, score = add_up(sums), metric.compute(measured)
    # A score can be read from answers that are no numbers, too, and would look like a guess.
    return loss.mean(total, add_up(weights)).item(), math.nan if total.isnan().any() else score
