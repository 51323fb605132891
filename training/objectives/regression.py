"""Regression: one number or several for each sample."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from training.config.objective import Regression
from training.facts import DataFacts
from training.objectives.confusion import listed, mean_of_known
from training.objectives.numbers import widened
from training.objectives.objective import Counter, Objective, Tables


class RegressionObjective(Objective):
    """Squared, absolute or Huber errors of outputs (n, values) against targets of that shape: the mean over the values, then
    over samples, as torch's ``MSELoss``, ``L1Loss`` and ``HuberLoss`` take it; or a weighted sum of all three.

    With standardised targets a model answers in standard deviations from the mean over the training samples. ``predict`` and
    the metrics turn that back, and ``spread`` says how.
    """

    def __init__(self, config: Regression, facts: DataFacts, device: torch.device) -> None:
        super().__init__(facts, len(facts.names), device)
        self._config = config
        self._weights = {
            "mse": (1.0, 0.0, 0.0),
            "l1": (0.0, 1.0, 0.0),
            "huber": (0.0, 0.0, 1.0),
            "weighted_sum": (config.mse_weight, config.l1_weight, config.huber_weight),
        }[config.loss]
        if config.standardise and facts.target_mean:
            self.spread = facts.target_mean, facts.target_std
            self._mean, self._std = torch.tensor(self.spread, dtype=torch.float32, device=device).unbind()

    def loss_sum(self, outputs: Tensor, targets: Tensor) -> Tensor:
        outputs = widened(outputs)
        targets = targets.to(outputs.dtype)
        if self.spread is not None:
            targets = (targets - self._mean.to(targets.dtype)) / self._std.to(targets.dtype)
        mse, l1, huber = self._weights
        parts = [mse * functional.mse_loss(outputs, targets, reduction="sum")] if mse else []
        parts += [l1 * functional.l1_loss(outputs, targets, reduction="sum")] if l1 else []
        if huber:
            parts.append(huber * functional.huber_loss(outputs, targets, reduction="sum", delta=self._config.delta))
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total / self.outputs

    def counters(self) -> Sequence[Counter]:
        return [_ValueCounter(self.spread)]

    def predict(self, outputs: Tensor) -> Tensor:
        """The values (n, values) in the data's own units, float32."""
        outputs = widened(outputs)
        return outputs if self.spread is None else outputs * self._std.to(outputs.dtype) + self._mean.to(outputs.dtype)

    def initial_loss(self) -> float | None:
        """Not known: one batch with a rare large target has another loss than the next."""
        return None


class _ValueCounter(Counter):
    """r2, rmse, mae and Spearman's rank correlation of each value, in its own unit; the plain mean over values.

    All answers are kept on the device until the pass has ended, and are measured in float64: sums of squares of
    numbers far from 0 would lose their digits. R² is 1 - squared errors / squared distances from the mean of those
    measured; ranks of equal numbers are their mean rank (both as torchmetrics defines them).
    """

    def __init__(self, spread: tuple[tuple[float, ...], tuple[float, ...]] | None) -> None:
        """``spread`` is the objective's."""
        self._spread = spread
        self._outputs: list[Tensor] = []
        self._targets: list[Tensor] = []

    def update(self, outputs: Tensor, targets: Tensor) -> None:
        self._outputs.append(outputs.float())
        self._targets.append(targets)

    def compute(self) -> dict[str, float]:
        return {name: mean_of_known(values) for name, values in self._each().items()}

    def tables(self) -> Tables:
        each = self._each()
        return {name: listed(values) for name, values in each.items()} if self._targets[0].shape[1] > 1 else {}

    def _each(self) -> dict[str, Tensor]:
        """float64 (values,) of each metric."""
        outputs = torch.cat(self._outputs).cpu().double()
        targets = torch.cat(self._targets).cpu().double()
        if self._spread is not None:
            mean, std = torch.tensor(self._spread, dtype=torch.float64)
            outputs = outputs * std + mean
        errors = outputs - targets
        squares = errors.square().sum(0)
        spread = (targets - targets.mean(0)).square().sum(0)
        return {
            "r2": torch.where(spread > 0, 1.0 - squares / spread, math.nan),
            "rmse": (squares / len(targets)).sqrt(),
            "mae": errors.abs().mean(0),
            "spearman": _correlation(_ranks(outputs), _ranks(targets)),
        }


def _ranks(values: Tensor) -> Tensor:
    """float64 (n, values) from 1 on, column by column. Not by torchmetrics, whose sums of ranks overflow where one number
    occurs 65,536 times."""
    columns = []
    for column in values.unbind(1):
        _, place, counts = torch.unique(column, return_inverse=True, return_counts=True)
        last = counts.cumsum(0).double()
        columns.append((last - (counts - 1) / 2.0)[place])
    return torch.stack(columns, dim=1)


def _correlation(left: Tensor, right: Tensor) -> Tensor:
    """Pearson's, (values,); NaN where one side never changes."""
    left, right = left - left.mean(0), right - right.mean(0)
    return (left * right).sum(0) / (left.square().sum(0) * right.square().sum(0)).sqrt()
