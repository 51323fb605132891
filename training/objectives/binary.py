"""Binary classification: yes or no, by one logit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from training.config.objective import Binary
from training.core.kept_scores import CurveMetrics, auroc, average_precision, compare_second_class
from training.core.losses import BinaryCrossEntropy, sigmoid_probabilities, widen
from training.core.scores import Metric, accuracy, f1, precision, predict_positive, recall, score_second_class
from training.errors import InputError
from training.facts import DataFacts
from training.objectives.objective import Objective
from training.objectives.tables import ConfusionMatrix, Tables


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
        self.loss = BinaryCrossEntropy(
            None if weight is None else torch.tensor([weight], dtype=torch.float32, device=device)
        )
        self._initial = self._guessing(weight or 1.0)

    def make_metrics(self) -> Sequence[Metric]:
        scores = {"accuracy": accuracy} | {
            score.__name__: partial(score_second_class, score=score) for score in (f1, precision, recall)
        }
        curves = {"auroc": auroc, "average_precision": average_precision}
        return [
            ConfusionMatrix(scores, 2, self.device, partial(predict_positive, threshold=self._threshold)),
            CurveMetrics(curves, torch.sigmoid, compare_second_class),
        ]

    def tables(self, metrics: Sequence[Metric]) -> Tables:
        assert isinstance(metrics[0], ConfusionMatrix), "the first of make_metrics"
        return metrics[0].tables()

    def predict(self, outputs: Tensor) -> Tensor:
        """Probabilities of both classes (n, 2), float32."""
        return sigmoid_probabilities(widen(outputs))

    def initial_loss(self) -> float:
        """log 2 for each sample, times its weight: the loss of a probability of one half."""
        return self._initial

    def _guessing(self, weight: float) -> float:
        counts = self.facts.counts
        share = counts[1] / sum(counts) if sum(counts) else 0.5
        return math.log(2.0) * (1.0 - share + share * weight)
