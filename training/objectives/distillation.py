"""Knowledge distillation: a network learns from samples and from a trained network's answers to them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from training.config.objective import Distillation
from training.core.losses import DistillationLoss, softmax_probabilities, widen
from training.core.scores import Metric, SummedMetrics, accuracy, count_agreement, predict_class, ratio, true_classes
from training.facts import DataFacts
from training.objectives.objective import Objective
from training.objectives.tables import ConfusionMatrix, Tables


class DistillationObjective(Objective):
    """Targets are those that ``with_answers`` makes."""

    probabilities = "softmax"

    def __init__(self, config: Distillation, facts: DataFacts, device: torch.device) -> None:
        super().__init__(facts, len(facts.names), device)
        self.loss = DistillationLoss(config.temperature, config.alpha)

    def make_metrics(self) -> Sequence[Metric]:
        truth = partial(true_classes, classes=self.outputs)
        return [
            ConfusionMatrix({"accuracy": accuracy}, self.outputs, self.device, predict_class, truth),
            SummedMetrics({"agreement": ratio}, count_agreement),
        ]

    def tables(self, metrics: Sequence[Metric]) -> Tables:
        assert isinstance(metrics[0], ConfusionMatrix), "the first of make_metrics"
        return metrics[0].tables()

    def predict(self, outputs: Tensor) -> Tensor:
        """Class probabilities (n, classes), float32, at temperature 1."""
        return softmax_probabilities(widen(outputs))

    def initial_loss(self) -> float | None:
        """Not known: it depends on how sure the teacher is."""
        return None
