"""Which share of some samples is still answered wrongly, for each kind of target."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from training.core.losses import last_views
from training.engine.session import Session

Measure = Callable[[Tensor, Tensor], float]
"""Of outputs and targets: from 0, all is right, to 1; above where the answers are worse than the mean."""

_METRICS = {
    "class": ("accuracy", "the samples"),
    "tokens": ("accuracy", "the tokens"),
    "mask": ("pixel_accuracy", "the pixels"),
    "ranks": ("pair_accuracy", "the pairs of items"),
    "values": ("r2", "the variance of the values"),
}


def choose_measure(session: Session) -> tuple[Measure, str]:
    """How it is measured, and of what it is a share."""
    objective, target = session.objective, session.data.facts.target
    if objective.is_embedding:
        if objective.views > 1:
            return _miss_partners, "the nearest neighbors"
        return _of_metrics(session, ["recall_at_1"]), "the nearest neighbors"
    if target == "labels":
        return _count_labels, "the labels"
    if target == "tasks":
        return _of_metrics(
            session, [name for name in objective.metrics if name.endswith(("/accuracy", "/r2"))]
        ), "the targets"
    name, what = _METRICS[target]
    names = (
        [name, "agreement"] if "agreement" in objective.metrics else [name]
    )  # of distillation: labels or the teacher's
    return _of_metrics(session, names, best=len(names) > 1), what


def _of_metrics(session: Session, names: list[str], best: bool = False) -> Measure:
    """1 minus the mean of these metrics, or minus the best of them."""
    metrics = [session.objective.metrics[name] for name in names]

    def measure(outputs: Tensor, targets: Tensor) -> float:
        outputs = outputs.float()
        scores = [metric.compute(zip(metric.measure(outputs, targets), strict=True)) for metric in metrics]
        known = [score for score in scores if not math.isnan(score)]
        if not known:
            return math.nan
        return 1.0 - (max(known) if best else sum(known) / len(known))

    return measure


def _count_labels(outputs: Tensor, targets: Tensor) -> float:
    return float(((outputs >= 0) != (targets > 0.5)).float().mean())


def _miss_partners(outputs: Tensor, targets: Tensor) -> float:
    """Samples whose nearest is not the other view of themselves."""
    embeddings, _ = last_views(outputs.float(), targets, 2, unit=True)
    nearness = (embeddings @ embeddings.T).fill_diagonal_(-math.inf)
    partners = torch.arange(len(embeddings), device=embeddings.device).roll(len(targets))
    return float((nearness.argmax(1) != partners).float().mean())
