"""Classification: each sample belongs to exactly one class."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from training.config.objective import Classification
from training.errors import InputError
from training.facts import DataFacts
from training.objectives.confusion import Confusion, listed, mean_of_known, ratio
from training.objectives.curves import ClassCurves
from training.objectives.numbers import class_weights, widened
from training.objectives.objective import Counter, Objective, Tables

_TOP = 5


class ClassificationObjective(Objective):
    """Cross-entropy over logits (n, classes) and targets (n,) int64, or (n, classes) of mixed samples.

    The mean is torch's: over samples or, with weights, over the weights of their classes; of mixed samples always over
    samples. Logits of lower precision are widened to float32 before the loss, whatever the compute format.
    """

    probabilities = "softmax"

    def __init__(self, config: Classification, facts: DataFacts, device: torch.device) -> None:
        super().__init__(facts, len(facts.names), device)
        self._config = config
        self._weights = class_weights(config.class_weights, config.balanced, facts, device)
        self._ignored = config.ignore_index
        if self._ignored >= self.outputs:
            raise InputError(
                f"objective.ignore_index: is {self._ignored}, but the data's {self.outputs} classes are numbered from 0 to "
                f"{self.outputs - 1}; choose one of these, or -100 for none."
            )
        if self.outputs <= _TOP:
            self.unmeasured = {"top5_accuracy": f"the data has only {self.outputs} classes"}
        self.weighs = self._weights is not None or self._ignored >= 0

    def loss_sum(self, outputs: Tensor, targets: Tensor) -> Tensor:
        logits, weights = widened(outputs), self._weights
        if targets.is_floating_point():
            targets = targets.to(logits.dtype)
        return functional.cross_entropy(
            logits,
            targets,
            weight=None if weights is None else weights.to(logits.dtype),
            ignore_index=self._ignored,
            reduction="sum",
            label_smoothing=self._config.label_smoothing,
        )

    def weigh(self, targets: Tensor) -> Tensor:
        if targets.is_floating_point():
            return targets.new_full((), len(targets), dtype=torch.float32)
        counted = targets != self._ignored
        if self._weights is None:
            return counted.sum().float()
        return (self._weights[targets.clamp(min=0)] * counted).sum()

    def counters(self) -> Sequence[Counter]:
        classes = ClassCounter(self.outputs, self._ignored, self.device)
        if not self._config.ranking_metrics:
            return [classes]
        return [classes, ClassCurves(self.outputs, self._ignored)]

    def predict(self, outputs: Tensor) -> Tensor:
        """Class probabilities (n, classes), float32."""
        return functional.softmax(widened(outputs), dim=-1)

    def initial_loss(self) -> float:
        """log C: the cross-entropy of equal probabilities, with label smoothing or weights or without."""
        return math.log(self.outputs)


class ClassCounter(Confusion):
    """accuracy, the share of samples whose class has the largest logit; f1, the mean over classes; from six classes on
    top5_accuracy, the share whose class is among the five largest."""

    def __init__(self, classes: int, ignored: int, device: torch.device) -> None:
        super().__init__(classes, device)
        self._ignored = ignored
        self._near = torch.zeros((), dtype=torch.int64, device=device)

    def update(self, outputs: Tensor, targets: Tensor) -> None:
        if targets.is_floating_point():  # probabilities, of mixed samples
            targets = targets.argmax(dim=-1)
        if self._ignored >= 0:
            targets = targets.masked_fill(targets == self._ignored, -1)
        self.count(outputs.argmax(dim=-1), targets)
        if self.classes > _TOP:
            self._near.add_((outputs.topk(_TOP, dim=-1).indices == targets[:, None]).sum())

    def compute(self) -> dict[str, float]:
        found = {"accuracy": self.accuracy()}
        if self.classes > _TOP:
            found["top5_accuracy"] = ratio(self._near.item(), self.sums()[0].sum().item())
        return found | {"f1": mean_of_known(self.f1())}

    def tables(self) -> Tables:
        there, answered, right = self.sums()
        return {
            "precision": listed(right / answered),
            "recall": listed(right / there),
            "f1": listed(self.f1()),
            **super().tables(),
        }
