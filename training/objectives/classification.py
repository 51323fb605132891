"""Classification: each sample belongs to exactly one class."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from training.config.sections.objective import Classification
from training.core.kept_scores import compare_classes
from training.core.losses import Loss, softmax_probabilities, weigh_samples, weighted_cross_entropy, widen
from training.core.scores import Metric, count_classes, count_correct, count_top5, f1, precision, predict_class, recall
from training.errors import InputError
from training.facts import DataFacts
from training.objectives.objective import Objective
from training.objectives.tables import count_confusions, measure_curves
from training.objectives.weights import class_weights

_TOP = 5


class ClassificationObjective(Objective):
    """Cross-entropy over logits (n, classes) and targets (n,) int64, or (n, classes) of mixed samples. From six classes on
    top-5 accuracy is measured, too."""

    probabilities = "softmax"

    def __init__(self, config: Classification, facts: DataFacts, device: torch.device) -> None:
        super().__init__(facts, len(facts.names), device)
        weight = class_weights(config.class_weights, config.balanced, facts, device)
        if config.ignore_index >= self.outputs:
            raise InputError(
                f"objective.ignore_index: is {config.ignore_index}, but the data's {self.outputs} classes are numbered from 0 to "
                f"{self.outputs - 1}; choose one of these, or -100 for none."
            )
        if self.outputs <= _TOP:
            self.unmeasured = {"top5_accuracy": f"the data has only {self.outputs} classes"}
        self.loss = _make_loss(weight, config.ignore_index, config.label_smoothing)
        ignoring: dict[str, Any] = {"ignore_index": config.ignore_index} if config.ignore_index >= 0 else {}
        counts = partial(count_classes, classes=self.outputs, predict=predict_class, **ignoring)
        self.metrics = {"accuracy": Metric(partial(count_correct, **ignoring))}
        if self.outputs > _TOP:
            self.metrics |= {"top5_accuracy": Metric(partial(count_top5, **ignoring))}
        self.metrics |= {"f1": Metric(counts, f1)}
        self.tables = {
            "precision": Metric(counts, precision),
            "recall": Metric(counts, recall),
            "f1": self.metrics["f1"],
            **count_confusions(self.outputs, predict_class, **ignoring),
        }
        if config.ranking_metrics:
            curves = measure_curves(softmax_probabilities, partial(compare_classes, **ignoring))
            self.metrics |= curves
            self.tables |= curves

    def predict(self, outputs: Tensor) -> Tensor:
        """Class probabilities (n, classes), float32."""
        return softmax_probabilities(widen(outputs))

    def initial_loss(self) -> float:
        """log C: the cross-entropy of equal probabilities, with label smoothing or weights or without."""
        return math.log(self.outputs)


def _make_loss(weight: Tensor | None, ignore_index: int, label_smoothing: float) -> Loss:
    """Arguments that say nothing are left out, for scripts to leave them out, too."""
    weighing: dict[str, Any] = {} if weight is None else {"weight": weight}
    weighing |= {"ignore_index": ignore_index} if ignore_index >= 0 else {}
    smoothing: dict[str, Any] = {"label_smoothing": label_smoothing} if label_smoothing else {}
    if weighing:
        return Loss(partial(weighted_cross_entropy, **weighing, **smoothing), partial(weigh_samples, **weighing))
    return Loss(partial(functional.cross_entropy, reduction="sum", **smoothing))
