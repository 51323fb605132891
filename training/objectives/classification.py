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
from training.core.losses import Loss, softmax_probabilities, weigh_samples, weighted_cross_entropy
from training.core.scores import Metric, count_classes, count_correct, count_top5, f1, precision, predict_class, recall
from training.errors import InputError
from training.facts import DataFacts
from training.objectives.objective import Objective
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
    # Arguments that say nothing are left out, for scripts to leave them out, too.
    ignoring = {"ignore_index": config.ignore_index} if config.ignore_index >= 0 else {}
    counts = partial(count_classes, classes=classes, predict=predict_class, **ignoring)
    measures_top = classes > _TOP
    f1_score = Metric(counts, f1)
    curves = measure_curves(softmax_probabilities, partial(compare_classes, **ignoring))
    curves = curves if config.ranking_metrics else {}
    return Objective(
        outputs=classes,
        loss=_make_loss(weight, ignoring, config.label_smoothing),
        metrics={
            "accuracy": Metric(partial(count_correct, **ignoring)),
            **({"top5_accuracy": Metric(partial(count_top5, **ignoring))} if measures_top else {}),
            "f1": f1_score,
            **curves,
        },
        tables={
            "precision": Metric(counts, precision),
            "recall": Metric(counts, recall),
            "f1": f1_score,
            **count_confusions(classes, predict_class, **ignoring),
            **curves,
        },
        unmeasured={} if measures_top else {"top5_accuracy": f"the data has only {classes} classes"},
        probabilities="softmax",
        initial_loss=math.log(classes),  # of equal probabilities, with label smoothing or weights or without
    )


def _make_loss(weight: Tensor | None, ignoring: dict[str, int], label_smoothing: float) -> Loss:
    smoothing: dict[str, Any] = {"label_smoothing": label_smoothing} if label_smoothing else {}
    weighing = {} if weight is None else {"weight": weight}
    if weighing or ignoring:
        function = partial(weighted_cross_entropy, **weighing, **ignoring, **smoothing)
        return Loss(function, partial(weigh_samples, **weighing, **ignoring))
    return Loss(partial(functional.cross_entropy, reduction="sum", **smoothing))
