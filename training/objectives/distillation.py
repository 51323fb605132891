"""Knowledge distillation: a network learns from samples and from a trained network's answers to them."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor

from training.config.sections.objective import Distillation
from training.core.losses import Loss, distillation_loss, softmax_probabilities, widen
from training.core.scores import Metric, count_agreed, count_learned, predict_class
from training.facts import DataFacts
from training.objectives.objective import Objective
from training.objectives.tables import count_confusions


class DistillationObjective(Objective):
    """Targets are those that ``with_answers`` makes."""

    probabilities = "softmax"

    def __init__(self, config: Distillation, facts: DataFacts, device: torch.device) -> None:
        super().__init__(facts, len(facts.names), device)
        self.loss = Loss(partial(distillation_loss, temperature=config.temperature, alpha=config.alpha))
        self.metrics = {"accuracy": Metric(count_learned), "agreement": Metric(count_agreed)}
        self.tables = count_confusions(self.outputs, predict_class, taught=True)

    def predict(self, outputs: Tensor) -> Tensor:
        """Class probabilities (n, classes), float32, at temperature 1."""
        return softmax_probabilities(widen(outputs))

    def initial_loss(self) -> float | None:
        """Not known: it depends on how sure the teacher is."""
        return None
