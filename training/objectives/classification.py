"""Classification: each sample belongs to exactly one class."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

from training.config.objective import Classification
from training.facts import DataFacts
from training.objectives.objective import Counter, Objective


class ClassificationObjective(Objective):
    """Cross-entropy over logits (n, classes) and targets (n,) int64, with accuracy.

    Logits of lower precision are widened to float32 before the loss, whatever the compute format.
    """

    probabilities = "softmax"

    def __init__(self, config: Classification, facts: DataFacts, device: torch.device) -> None:
        super().__init__(facts, len(facts.names), device)
        self._label_smoothing = config.label_smoothing

    def loss_sum(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return functional.cross_entropy(
            widened(outputs), targets, reduction="sum", label_smoothing=self._label_smoothing
        )

    def counters(self) -> dict[str, Counter]:
        return {"accuracy": Accuracy(self.device)}

    def predict(self, outputs: Tensor) -> Tensor:
        """Class probabilities (n, classes), float32."""
        return functional.softmax(widened(outputs), dim=-1)

    def initial_loss(self) -> float:
        """log C: the cross-entropy of equal probabilities, with label smoothing or without."""
        return math.log(self.outputs)


class Accuracy:
    """The share of samples whose class has the largest logit."""

    def __init__(self, device: torch.device) -> None:
        self._correct = torch.zeros((), dtype=torch.int64, device=device)
        self._samples = 0

    def update(self, outputs: Tensor, targets: Tensor) -> None:
        if targets.is_floating_point():  # probabilities, of mixed samples
            targets = targets.argmax(dim=-1)
        self._correct.add_((outputs.argmax(dim=-1) == targets).sum())
        self._samples += targets.shape[0]

    def compute(self) -> float:
        return float(self._correct.item()) / self._samples


def widened(outputs: Tensor) -> Tensor:
    """float32 at least: half precision would lose digits in the softmax."""
    return outputs if outputs.dtype == torch.float64 else outputs.float()
