"""What the script of a run says about its task: targets, loss and how the best weights are chosen."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from training.config.metrics import metric
from training.config.objective import (
    Binary,
    Classification,
    Distillation,
    LanguageModel,
    MultiLabel,
    Ranking,
    Regression,
    Segmentation,
)
from training.export.material import Material
from training.export.written import setting
from training.objectives.weights import class_weights

_TRUTH = {
    "class": "classes",
    "labels": "labels",
    "values": "values",
    "tokens": "following",
    "mask": "masks",
    "ranks": "ranks",
}
CURVES = ("auroc", "average_precision", "mean_average_precision")
"""The scores that torchmetrics measures."""
_LOSSES = {
    "mse": 'nn.functional.mse_loss(outputs, targets, reduction="sum")',
    "l1": 'nn.functional.l1_loss(outputs, targets, reduction="sum")',
    "huber": 'nn.functional.huber_loss(outputs, targets, reduction="sum", delta=DELTA)',
}
_WORDS = {
    "mse": "Squared errors",
    "l1": "Absolute errors",
    "huber": "Huber loss",
    "weighted_sum": "A weighted sum of errors",
}


def describe_task(material: Material) -> dict[str, Any]:
    """For the templates."""
    config, objective = material.config, material.objective
    section = config.objective
    judged_by_loss = config.monitor == "val/loss"
    score = metric(section.metrics[0] if judged_by_loss else config.monitor)
    truth = _TRUTH[material.facts.target]
    facts: dict[str, Any] = {
        "objective": section.kind,
        "target": material.facts.target,
        "truth": truth,
        "truth_words": "classes int64 (n,)" if material.facts.target == "class" else f"{truth} float32",
        "outputs": objective.outputs,
        "targets": f"{truth}[batch]",
        "weighs": objective.is_weighted,
        "may_weigh_nothing": objective.is_weighted and not isinstance(section, LanguageModel),
        "terms": 1,
        "score_name": score.title,
        "score_format": score.format,
        "score": score.name,
        "monitored": "val_loss" if judged_by_loss else "val_score",
        "label_smoothing": getattr(section, "label_smoothing", 0.0),
        "class_weights": _class_weights(material) is not None,
        "ignore_index": isinstance(section, Classification) and section.ignore_index >= 0,
        "pos_weight": _pos_weight(material) is not None,
        "standardised": objective.spread is not None,
    }
    if isinstance(section, Regression):
        facts |= {"loss_words": _WORDS[section.loss], "loss_lines": _loss_lines(section)}
    if isinstance(section, Segmentation):
        dice, cross_entropy = section.loss != "cross_entropy", section.loss != "dice"
        facts |= {"loss": section.loss, "dice": dice, "cross_entropy": cross_entropy, "terms": dice + cross_entropy}
        facts |= {"single": section.loss == "dice_bce", "targets": "pixel_classes(masks[batch])"}
    return facts


def task_settings(material: Material) -> list[tuple[str, str, Any]]:
    """Comment, name and value of each number that the task's templates name in capitals."""
    section, spread = material.config.objective, material.objective.spread
    settings: list[tuple[str, str, Any]] = []
    if (weights := _class_weights(material)) is not None:
        settings.append(("Weight of each class in the loss.", "CLASS_WEIGHTS", weights))
    if isinstance(section, Classification) and section.ignore_index >= 0:
        settings.append(("The class that counts nowhere.", "IGNORE_INDEX", section.ignore_index))
    if (weight := _pos_weight(material)) is not None:
        settings.append(
            ("How much more a sample counts that is of the class, or carries the label.", "POS_WEIGHT", weight)
        )
    if isinstance(section, Binary | MultiLabel):
        settings.append(("From this probability on the answer is yes.", "THRESHOLD", section.threshold))
    if isinstance(section, Regression) and "delta" in " ".join(_loss_lines(section)).lower():
        settings.append(("Where the Huber loss turns from squared to absolute.", "DELTA", section.delta))
    if isinstance(section, Distillation):
        settings += [setting(section, "temperature"), setting(section, "alpha")]
    if isinstance(section, Ranking):
        settings.append(("How much higher the better item has to score.", "MARGIN", section.margin))
        if (
            metric(section.metrics[0] if material.config.monitor == "val/loss" else material.config.monitor).name
            == "ndcg"
        ):
            settings.append(("Places from the top that NDCG looks at.", "TOP", section.top))
    if isinstance(section, Segmentation) and section.loss != "cross_entropy":
        settings.append(("Steadies the Dice loss of areas of few pixels.", "SMOOTH", section.smooth))
        if section.loss != "dice":
            settings.append(("Share of the Dice loss.", "DICE_WEIGHT", section.dice_weight))
    if spread is not None:
        settings += [
            ("Of the values to predict, in training.", "TARGET_MEAN", spread[0]),
            ("", "TARGET_STD", spread[1]),
        ]
    return settings


def _loss_lines(section: Regression) -> list[str]:
    shares = {"mse": section.mse_weight, "l1": section.l1_weight, "huber": section.huber_weight}
    if section.loss != "weighted_sum":
        shares = {section.loss: 1.0}
    parts = [f"{share!r} * {_LOSSES[name]}" for name, share in shares.items() if share]
    return [f"total = {parts[0]}", *(f"total = total + {part}" for part in parts[1:])]


def _class_weights(material: Material) -> list[float] | None:
    section = material.config.objective
    if not isinstance(section, Classification | Segmentation):
        return None
    weights = class_weights(section.class_weights, section.balanced, material.facts, torch.device("cpu"))
    return None if weights is None else weights.tolist()


def _pos_weight(material: Material) -> Any:
    function = material.objective.loss.function
    weight = function.keywords.get("pos_weight") if isinstance(function, partial) else None
    if weight is None:
        return None
    return weight.item() if isinstance(material.config.objective, Binary) else weight.tolist()
