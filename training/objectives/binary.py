"""Binary classification: yes or no, by one logit."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from training.config.objective import Binary
from training.errors import InputError
from training.facts import DataFacts
from training.objectives.confusion import Confusion, ratio
from training.objectives.curves import Curves
from training.objectives.numbers import widened
from training.objectives.objective import Counter, Objective


class BinaryObjective(Objective):
    """Binary cross-entropy over logits (n, 1) and targets (n,) int64 of two classes, 1 being the one to find, or (n, 2) of
    mixed samples; the mean is over samples, also with a positive weight, as ``nn.BCEWithLogitsLoss`` takes it."""

    probabilities = "sigmoid"

    def __init__(self, config: Binary, facts: DataFacts, device: torch.device) -> None:
        super().__init__(facts, 1, device)
        if len(facts.names) != 2:
            names = ", ".join(facts.names[:10]) + (", ..." if len(facts.names) > 10 else "")
            raise InputError(
                f"objective.kind: binary needs exactly two classes, but the data has {len(facts.names)} ({names}); choose "
                "classification.",
                fix={"objective.kind": "classification"},
            )
        self._threshold = config.threshold
        weight = config.pos_weight
        if config.balanced and facts.counts and facts.counts[1]:
            weight = facts.counts[0] / facts.counts[1]
        self.pos_weight = None if weight is None else torch.tensor([weight], dtype=torch.float32, device=device)
        self._initial = self._guessing(weight or 1.0)

    def loss_sum(self, outputs: Tensor, targets: Tensor) -> Tensor:
        logits, weight = widened(outputs), self.pos_weight
        return functional.binary_cross_entropy_with_logits(
            logits[:, 0],
            _share(targets).to(logits.dtype),
            pos_weight=None if weight is None else weight.to(logits.dtype),
            reduction="sum",
        )

    def counters(self) -> Sequence[Counter]:
        return [_BinaryCounter(self._threshold, self.device), _BinaryCurves()]

    def predict(self, outputs: Tensor) -> Tensor:
        """Probabilities of both classes (n, 2), float32."""
        yes = torch.sigmoid(widened(outputs))
        return torch.cat([1.0 - yes, yes], dim=1)

    def initial_loss(self) -> float:
        """log 2 for each sample, times its weight: the loss of a probability of one half."""
        return self._initial

    def _guessing(self, weight: float) -> float:
        counts = self.facts.counts
        share = counts[1] / sum(counts) if sum(counts) else 0.5
        return math.log(2.0) * (1.0 - share + share * weight)


def _classes(targets: Tensor) -> Tensor:
    """int64 (n,): the class of each sample, of a mixed one that it is most of."""
    return targets.argmax(dim=1) if targets.is_floating_point() else targets


def _share(targets: Tensor) -> Tensor:
    """How much of each sample is of the second class."""
    return targets[:, 1] if targets.is_floating_point() else targets


class _BinaryCounter(Confusion):
    """accuracy; f1, precision and recall of the second class."""

    def __init__(self, threshold: float, device: torch.device) -> None:
        super().__init__(2, device)
        self._logit = math.log(threshold) - math.log1p(-threshold)

    def update(self, outputs: Tensor, targets: Tensor) -> None:
        self.count((outputs[:, 0].float() >= self._logit).long(), _classes(targets))

    def compute(self) -> dict[str, float]:
        there, answered, right = (number[1].item() for number in self.sums())
        return {
            "accuracy": self.accuracy(),
            "f1": self.f1()[1].item(),
            "precision": ratio(right, answered),
            "recall": ratio(right, there),
        }


class _BinaryCurves(Curves):
    def update(self, outputs: Tensor, targets: Tensor) -> None:
        super().update(torch.sigmoid(outputs.float()), _classes(targets)[:, None] == 1)
