"""An evaluation of answers that are known."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from typing import Any

from torch import Tensor, nn

from training.core.evaluation import evaluate
from training.objectives import MetricSet, Objective


def evaluate_batches(
    objective: Objective, batches: Iterable[tuple[Tensor, Tensor]]
) -> tuple[dict[str, float], dict[str, Any]]:
    """Metrics and tables of the batches (outputs, targets)."""
    metrics = MetricSet(objective.metrics, objective.tables)
    loss, score = evaluate(nn.Identity(), batches, objective.loss, metrics.metric, autocast=nullcontext)
    return metrics.results(loss, score), metrics.tables
