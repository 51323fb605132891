"""Binary classification: yes or no, by one logit."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor

from training.config.sections.objective import Binary
from training.core.kept_scores import compare_second
from training.core.losses import Loss, binary_cross_entropy, sigmoid_probabilities, widen
from training.core.scores import Metric, count_exact, count_labels, exceed, f1, precision, recall
from training.errors import InputError
from training.facts import DataFacts
from training.objectives.objective import Objective
from training.objectives.tables import count_confusions, measure_curves


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
        weight = config.pos_weight
        if config.balanced and facts.counts and facts.counts[1]:
            weight = facts.counts[0] / facts.counts[1]
        weighing = {} if weight is None else {"pos_weight": torch.tensor([weight], device=device)}
        self.loss = Loss(partial(binary_cross_entropy, **weighing))
        counts = partial(count_labels, threshold=config.threshold)
        self.metrics = {
            "accuracy": Metric(partial(count_exact, threshold=config.threshold)),
            **{score.__name__: Metric(counts, score) for score in (f1, precision, recall)},
            **measure_curves(torch.sigmoid, compare_second),
        }
        self._initial = self._guess(weight or 1.0)
        self.tables = count_confusions(2, lambda outputs: exceed(outputs, config.threshold).long())

    def predict(self, outputs: Tensor) -> Tensor:
        """Probabilities of both classes (n, 2), float32."""
        return sigmoid_probabilities(widen(outputs))

    def initial_loss(self) -> float:
        """log 2 for each sample, times its weight: the loss of a probability of one half."""
        return self._initial

    def _guess(self, weight: float) -> float:
        counts = self.facts.counts
        share = counts[1] / sum(counts) if sum(counts) else 0.5
        return math.log(2.0) * (1.0 - share + share * weight)
