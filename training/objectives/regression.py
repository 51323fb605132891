"""Regression: one number or several for each sample."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from training.config.sections.objective import Regression
from training.core.kept_scores import keep_values, mae, r2, rmse, score_values, spearman
from training.core.losses import Loss, mean_error, mean_of_sum, stack_errors
from training.core.scores import Metric
from training.facts import DataFacts
from training.objectives.objective import Objective

Error = Callable[..., Tensor]
"""Measures errors as ``functional.mse_loss``, ``l1_loss`` and ``huber_loss`` do."""


def make_regression(config: Regression, facts: DataFacts, device: torch.device) -> Objective:
    """Squared, absolute or Huber errors of outputs (n, values) against targets of that shape: the mean over the values, then
    over samples, as torch's ``MSELoss``, ``L1Loss`` and ``HuberLoss`` take it; or a weighted sum of all three.

    With standardized targets a model answers in standard deviations from the mean over the training samples. The metrics turn
    that back, and ``spread`` says how. The initial loss is not known: one batch with a rare large target has another than the next.
    """
    errors: dict[str, Error] = {
        "mse": functional.mse_loss,
        "l1": functional.l1_loss,
        "huber": partial(functional.huber_loss, delta=config.delta),
    }
    parts: dict[str, float] = {}
    if config.loss == "weighted_sum":
        weights = {"mse": config.mse_weight, "l1": config.l1_weight, "huber": config.huber_weight}
        parts = {name: weight for name, weight in weights.items() if weight}
    error = partial(stack_errors, errors=[errors[name] for name in parts]) if parts else errors[config.loss]
    loss, measure, spread = partial(mean_error, error=error), partial(score_values), None  # in the data's own unit
    if config.standardise and facts.target_mean:
        mean, std = spread = facts.target_mean, facts.target_std
        tensors = torch.tensor(spread, dtype=torch.float32, device=device)
        loss = partial(mean_error, error=error, mean=tensors[0], std=tensors[1])
        measure = partial(score_values, mean=mean, std=std)
    whole = Loss(loss, mean=partial(mean_of_sum, shares=tuple(parts.values()))) if parts else Loss(loss)
    scores = (r2, rmse, mae, spearman)
    metrics = {score.__name__: Metric(keep_values, partial(measure, score=score), torch.cat) for score in scores}
    tables = metrics if len(facts.names) > 1 else {}
    return Objective(len(facts.names), whole, metrics, tables, spread=spread, parts=parts)
