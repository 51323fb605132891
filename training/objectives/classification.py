"""Classification: each sample belongs to exactly one class."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

from training.config.sections.objective import Classification
from training.core.kept_scores import compare_classes
from training.core.losses import Loss, softmax_probabilities, weigh_samples, weighted_cross_entropy
from training.core.scores import Metric, count_classes, count_correct, count_top5, f1, precision, predict_class, recall
from training.errors import InputError
from training.facts import DataFacts
from training.objectives.objective import Objective, bind
from training.objectives.tables import count_confusions, measure_curves
from training.objectives.weights import class_weights

_TOP = 5


def make_classification(config: Classification, facts: DataFacts, device: torch.device) -> Objective:
    """Cross-entropy over logits (n, classes) and targets (n,) int64, or (n, classes) of mixed samples. From six classes on
    top-5 accuracy is measured, too."""
    classes = len(facts.names)
    weight = class_weights(config.class_weights, config.balanced, facts, device)
    if config.ignore_index >= classes:
        raise InputError(
            f"objective.ignore_index: is {config.ignore_index}, but the data's {classes} classes are numbered from 0 to "
            f"{classes - 1}; choose one of these, or -100 for none."
        )
    ignored = config.ignore_index if config.ignore_index >= 0 else None
    counts = bind(count_classes, classes=classes, predict=predict_class, ignore_index=ignored)
    measures_top = classes > _TOP
    f1_score = Metric(counts, f1)
    curves = measure_curves(softmax_probabilities, bind(compare_classes, ignore_index=ignored))
    curves = curves if config.ranking_metrics else {}
    return Objective(
        outputs=classes,
        loss=_make_loss(weight, ignored, config.label_smoothing or None),
        metrics={
            "accuracy": Metric(bind(count_correct, ignore_index=ignored)),
            **({"top5_accuracy": Metric(bind(count_top5, ignore_index=ignored))} if measures_top else {}),
            "f1": f1_score,
            **curves,
        },
        tables={
            "precision": Metric(counts, precision),
            "recall": Metric(counts, recall),
            "f1": f1_score,
            **count_confusions(classes, predict_class, config.ignore_index),
            **curves,
        },
        unmeasured={} if measures_top else {"top5_accuracy": f"the data has only {classes} classes"},
        probabilities="softmax",
        initial_loss=math.log(classes),  # of equal probabilities, with label smoothing or weights or without
    )


def _make_loss(weight: Tensor | None, ignored: int | None, smoothing: float | None) -> Loss:
    if weight is None and ignored is None:
        return Loss(bind(functional.cross_entropy, reduction="sum", label_smoothing=smoothing))
    function = bind(weighted_cross_entropy, weight=weight, ignore_index=ignored, label_smoothing=smoothing)
    return Loss(function, bind(weigh_samples, weight=weight, ignore_index=ignored))
