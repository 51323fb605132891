"""Classification: each sample belongs to exactly one class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from training.config.objective import Classification
from training.core.kept_scores import CurveMetrics, auroc, average_precision, compare_classes
from training.core.losses import CrossEntropy, WeightedCrossEntropy, softmax_probabilities, widen
from training.core.scores import (
    Metric,
    SummedMetrics,
    accuracy,
    count_top5,
    f1,
    precision,
    predict_class,
    ratio,
    recall,
)
from training.errors import InputError
from training.facts import DataFacts
from training.objectives.objective import Objective
from training.objectives.tables import ConfusionMatrix, Tables, list_scores
from training.objectives.weights import class_weights

_TOP = 5


class ClassificationObjective(Objective):
    """Cross-entropy over logits (n, classes) and targets (n,) int64, or (n, classes) of mixed samples. From six classes on
    top-5 accuracy is measured, too."""

    probabilities = "softmax"

    def __init__(self, config: Classification, facts: DataFacts, device: torch.device) -> None:
        super().__init__(facts, len(facts.names), device)
        self._config = config
        weight = class_weights(config.class_weights, config.balanced, facts, device)
        if config.ignore_index >= self.outputs:
            raise InputError(
                f"objective.ignore_index: is {config.ignore_index}, but the data's {self.outputs} classes are numbered from 0 to "
                f"{self.outputs - 1}; choose one of these, or -100 for none."
            )
        if self.outputs <= _TOP:
            self.unmeasured = {"top5_accuracy": f"the data has only {self.outputs} classes"}
        if weight is None and config.ignore_index < 0:
            self.loss = CrossEntropy(config.label_smoothing)
        else:
            self.loss = WeightedCrossEntropy(weight, config.ignore_index, config.label_smoothing)

    def make_metrics(self) -> Sequence[Metric]:
        scores, ignored = {"accuracy": accuracy, "f1": f1}, self._config.ignore_index
        found: list[Metric] = [ConfusionMatrix(scores, self.outputs, self.device, predict_class, ignore_index=ignored)]
        if self.outputs > _TOP:
            found.append(SummedMetrics({"top5_accuracy": ratio}, partial(count_top5, ignore_index=ignored)))
        if self._config.ranking_metrics:
            curves = {"auroc": auroc, "average_precision": average_precision}
            found.append(CurveMetrics(curves, softmax_probabilities, partial(compare_classes, ignore_index=ignored)))
        return found

    def tables(self, metrics: Sequence[Metric]) -> Tables:
        matrix, curves = metrics[0], metrics[-1]
        assert isinstance(matrix, ConfusionMatrix), "the first of make_metrics"
        found = list_scores(matrix, {"precision": precision, "recall": recall, "f1": f1}) | matrix.tables()
        return found | (list_scores(curves, curves.scores) if isinstance(curves, CurveMetrics) else {})

    def predict(self, outputs: Tensor) -> Tensor:
        """Class probabilities (n, classes), float32."""
        return softmax_probabilities(widen(outputs))

    def initial_loss(self) -> float:
        """log C: the cross-entropy of equal probabilities, with label smoothing or weights or without."""
        return math.log(self.outputs)
