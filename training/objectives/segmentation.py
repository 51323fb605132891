"""Semantic segmentation: each pixel belongs to a class."""

from __future__ import annotations

import math
from functools import partial

import torch

from training.config.sections.objective import Segmentation
from training.core.losses import (
    Loss,
    count_masks,
    dice_loss,
    pixel_binary_cross_entropy,
    pixel_cross_entropy,
    share_means,
    sigmoid_probabilities,
    softmax_probabilities,
    stack_terms,
    weigh_classes,
)
from training.core.scores import Metric, accuracy, count_classes, f1, iou, predict_class, predict_second
from training.errors import InputError
from training.facts import DataFacts
from training.objectives.objective import Objective, bind
from training.objectives.tables import count_confusions
from training.objectives.weights import class_weights


def make_segmentation(config: Segmentation, facts: DataFacts, device: torch.device) -> Objective:
    """Cross-entropy, Dice loss or both over logits (n, classes, H, W) and masks (n, H, W) int64; (n, 1, H, W) for two
    classes under "dice_bce". Pixels of -100 are left out of both, and of the metrics: those of the classes are over
    all pixels of the pass, the mean over the classes that were there or were answered."""
    classes, single = len(facts.names), config.loss == "dice_bce"
    if single and classes != 2:
        raise InputError(
            f"objective.loss: dice_bce is for masks of two classes, but the data has {classes}; choose "
            "dice_cross_entropy.",
            fix={"objective.loss": "dice_cross_entropy"},
        )
    probabilities = sigmoid_probabilities if single else softmax_probabilities
    weight = class_weights(config.class_weights, config.balanced, facts, device)
    pixels = Loss(
        bind(pixel_binary_cross_entropy if single else pixel_cross_entropy, weight=weight),
        bind(weigh_classes, weight=weight),
    )
    overlap = Loss(partial(dice_loss, probabilities=probabilities, smooth=config.smooth), count_masks)
    both = Loss(
        partial(stack_terms, functions=[pixels.function, overlap.function]),
        partial(stack_terms, functions=[pixels.weigh, overlap.weigh]),
        partial(share_means, share=config.dice_weight),
    )
    predict = predict_second if single else predict_class
    counts = partial(count_classes, classes=classes, predict=predict)
    mean_iou, dice = Metric(counts, iou), Metric(counts, f1)
    return Objective(
        outputs=1 if single else classes,
        loss={"cross_entropy": pixels, "dice": overlap}.get(config.loss, both),
        metrics={"mean_iou": mean_iou, "dice": dice, "pixel_accuracy": Metric(counts, accuracy)},
        tables={"iou": mean_iou, "dice": dice, **count_confusions(classes, predict)},
        probabilities="sigmoid" if single else "softmax",
        # Of cross-entropy, by weights or without; for Dice it depends on the areas.
        initial_loss=math.log(classes) if config.loss == "cross_entropy" else None,
        parts={}
        if config.loss in ("cross_entropy", "dice")
        else {"cross_entropy": 1.0 - config.dice_weight, "dice": config.dice_weight},
    )
