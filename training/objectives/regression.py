"""Regression: one number or several for each sample."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional

from training.config.sections.objective import Regression
from training.core.kept_scores import keep_values, mae, r2, rmse, score_values, spearman
from training.core.losses import Loss, mean_error, weighted_error, widen
from training.core.scores import Metric
from training.facts import DataFacts
from training.objectives.objective import Objective

Error = Callable[..., Tensor]
"""Measures errors as ``functional.mse_loss``, ``l1_loss`` and ``huber_loss`` do."""


class RegressionObjective(Objective):
    """Squared, absolute or Huber errors of outputs (n, values) against targets of that shape: the mean over the values, then
    over samples, as torch's ``MSELoss``, ``L1Loss`` and ``HuberLoss`` take it; or a weighted sum of all three.

    With standardised targets a model answers in standard deviations from the mean over the training samples. ``predict`` and
    the metrics turn that back, and ``spread`` says how.
    """

    def __init__(self, config: Regression, facts: DataFacts, device: torch.device) -> None:
        super().__init__(facts, len(facts.names), device)
        error, scores = _choose_error(config), (r2, rmse, mae, spearman)
        self.loss, measure = Loss(partial(mean_error, error=error)), partial(score_values)  # in the data's own unit
        if config.standardise and facts.target_mean:
            mean, std = self.spread = facts.target_mean, facts.target_std
            self._mean, self._std = torch.tensor(self.spread, dtype=torch.float32, device=device).unbind()
            self.loss = Loss(partial(mean_error, error=error, mean=self._mean, std=self._std))
            measure = partial(score_values, mean=mean, std=std)
        self.metrics = {
            score.__name__: Metric(keep_values, partial(measure, score=score), torch.cat) for score in scores
        }
        self.tables = self.metrics if self.outputs > 1 else {}

    def predict(self, outputs: Tensor) -> Tensor:
        """The values (n, values) in the data's own units, float32."""
        outputs = widen(outputs)
        return outputs if self.spread is None else outputs * self._std.to(outputs.dtype) + self._mean.to(outputs.dtype)

    def initial_loss(self) -> float | None:
        """Not known: one batch with a rare large target has another loss than the next."""
        return None


def _choose_error(config: Regression) -> Error:
    huber: Error = partial(functional.huber_loss, delta=config.delta)
    if config.loss != "weighted_sum":
        plain: dict[str, Error] = {"mse": functional.mse_loss, "l1": functional.l1_loss, "huber": huber}
        return plain[config.loss]
    errors: list[tuple[float, Error]] = [
        (config.mse_weight, functional.mse_loss),
        (config.l1_weight, functional.l1_loss),
        (config.huber_weight, huber),
    ]
    return partial(weighted_error, errors=[(weight, error) for weight, error in errors if weight])
