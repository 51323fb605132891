"""Semantic segmentation: each pixel belongs to a class."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch
from torch import Tensor

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
    widen,
)
from training.core.scores import Metric, accuracy, count_classes, f1, iou, predict_class, predict_second
from training.errors import InputError
from training.facts import DataFacts
from training.objectives.objective import Objective
from training.objectives.tables import count_confusions
from training.objectives.weights import class_weights


class SegmentationObjective(Objective):
    """Cross-entropy, Dice loss or both over logits (n, classes, H, W) and masks (n, H, W) int64; (n, 1, H, W) for two
    classes under "dice_bce". Pixels of -100 are left out of both, and of the metrics: those of the classes are over
    all pixels of the pass, the mean over the classes that were there or were answered."""

    def __init__(self, config: Segmentation, facts: DataFacts, device: torch.device) -> None:
        self._classes = len(facts.names)
        self._loss = config.loss
        self._single = config.loss == "dice_bce"
        self._probabilities = sigmoid_probabilities if self._single else softmax_probabilities
        self.probabilities = "sigmoid" if self._single else "softmax"
        super().__init__(facts, 1 if self._single else self._classes, device)
        if self._single and self._classes != 2:
            raise InputError(
                f"objective.loss: dice_bce is for masks of two classes, but the data has {self._classes}; choose "
                "dice_cross_entropy.",
                fix={"objective.loss": "dice_cross_entropy"},
            )
        weight = class_weights(config.class_weights, config.balanced, facts, device)
        weighing: dict[str, Any] = {} if weight is None else {"weight": weight}
        pixels = Loss(
            partial(pixel_binary_cross_entropy if self._single else pixel_cross_entropy, **weighing),
            partial(weigh_classes, **weighing),
        )
        overlap = Loss(partial(dice_loss, probabilities=self._probabilities, smooth=config.smooth), count_masks)
        both = Loss(
            partial(stack_terms, functions=[pixels.function, overlap.function]),
            partial(stack_terms, functions=[pixels.weigh, overlap.weigh]),
            partial(share_means, share=config.dice_weight),
        )
        self.loss = {"cross_entropy": pixels, "dice": overlap}.get(config.loss, both)
        predict = predict_second if self._single else predict_class
        counts = partial(count_classes, classes=self._classes, predict=predict)
        self.metrics = {
            "mean_iou": Metric(counts, iou),
            "dice": Metric(counts, f1),
            "pixel_accuracy": Metric(counts, accuracy),
        }
        self.tables = {
            "iou": self.metrics["mean_iou"],
            "dice": self.metrics["dice"],
            **count_confusions(self._classes, predict),
        }

    def predict(self, outputs: Tensor) -> Tensor:
        """Probabilities of the classes (n, classes, H, W), float32."""
        return self._probabilities(widen(outputs))

    def initial_loss(self) -> float | None:
        """log C for cross-entropy, by weights or without; for Dice it depends on the areas."""
        return math.log(self._classes) if self._loss == "cross_entropy" else None
