"""Multi-label classification: each sample may carry any number of labels."""

from __future__ import annotations

import math
from functools import partial

import torch
from torch import Tensor

from training.config.sections.objective import MultiLabel
from training.core.kept_scores import compare_labels
from training.core.losses import Loss, label_cross_entropy, widen
from training.core.scores import Metric, count_exact, count_labels, f1, f1_micro, precision, recall
from training.facts import DataFacts
from training.objectives.objective import Objective
from training.objectives.tables import measure_curves
from training.objectives.weights import refuse_other_count


class MultiLabelObjective(Objective):
    """Binary cross-entropy over logits (n, labels) and targets (n, labels) of 0 and 1: the mean over labels, then over
    samples, which is that of ``nn.BCEWithLogitsLoss``."""

    probabilities = "sigmoid"

    def __init__(self, config: MultiLabel, facts: DataFacts, device: torch.device) -> None:
        super().__init__(facts, len(facts.names), device)
        weights = tuple(config.pos_weight)
        if weights:
            refuse_other_count("objective.pos_weight", weights, facts)
        if config.balanced:  # 1 for a label that no sample or each carries: there is nothing to balance
            carried = [count if 0 < count < facts.samples else 0 for count in facts.counts]
            weights = tuple((facts.samples - count) / count if count else 1.0 for count in carried)
        self._weights = weights
        weighing = {"pos_weight": torch.tensor(weights, device=device)} if weights else {}
        self.loss = Loss(partial(label_cross_entropy, **weighing))
        counts = partial(count_labels, threshold=config.threshold)
        curves = measure_curves(torch.sigmoid, compare_labels)
        self.metrics = {
            "f1": Metric(counts, f1),
            "f1_micro": Metric(counts, f1_micro),
            "subset_accuracy": Metric(partial(count_exact, threshold=config.threshold)),
            "auroc": curves["auroc"],
            "mean_average_precision": curves["average_precision"],
        }
        self.tables = {
            "precision": Metric(counts, precision),
            "recall": Metric(counts, recall),
            "f1": self.metrics["f1"],
        }
        if self.outputs > 1:
            self.tables |= curves

    def predict(self, outputs: Tensor) -> Tensor:
        """The probability of each label (n, labels), float32; they do not sum to 1."""
        return torch.sigmoid(widen(outputs))

    def initial_loss(self) -> float:
        """log 2, times the weight of each label's samples on average: the loss of probabilities of one half."""
        if not self._weights:
            return math.log(2.0)
        shares = [count / self.facts.samples for count in self.facts.counts] if self.facts.samples else []
        shares = shares or [0.5] * self.outputs
        weighed = [1.0 - share + share * weight for share, weight in zip(shares, self._weights, strict=True)]
        return math.log(2.0) * sum(weighed) / len(weighed)
