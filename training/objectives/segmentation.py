"""Semantic segmentation: each pixel belongs to a class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from training.config.objective import Segmentation
from training.core.losses import (
    CombinedLoss,
    DiceLoss,
    Loss,
    PixelBinaryCrossEntropy,
    PixelCrossEntropy,
    sigmoid_probabilities,
    softmax_probabilities,
    widen,
)
from training.core.scores import Metric, accuracy, f1, iou, predict_class, predict_positive
from training.errors import InputError
from training.facts import IGNORED, DataFacts
from training.objectives.objective import Objective
from training.objectives.tables import ConfusionMatrix, Tables, list_scores
from training.objectives.weights import class_weights


class SegmentationObjective(Objective):
    """Cross-entropy, Dice loss or both over logits (n, classes, H, W) and masks (n, H, W) int64; (n, 1, H, W) for two
    classes under "dice_bce". Pixels of ``IGNORED`` are left out of both, and of the metrics: those of the classes are over
    all pixels of the pass, the mean over the classes that were there or were answered."""

    def __init__(self, config: Segmentation, facts: DataFacts, device: torch.device) -> None:
        self._classes = len(facts.names)
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
        pixels = (PixelBinaryCrossEntropy if self._single else PixelCrossEntropy)(weight, IGNORED)
        dice = DiceLoss(self._probabilities, config.smooth)
        both = CombinedLoss([(1.0 - config.dice_weight, pixels), (config.dice_weight, dice)])
        self.loss: Loss = {"cross_entropy": pixels, "dice": dice}.get(config.loss, both)

    def make_metrics(self) -> Sequence[Metric]:
        predict = partial(predict_positive, threshold=0.5) if self._single else predict_class
        scores = {"mean_iou": iou, "dice": f1, "pixel_accuracy": accuracy}
        return [ConfusionMatrix(scores, self._classes, self.device, predict, ignore_index=IGNORED)]

    def tables(self, metrics: Sequence[Metric]) -> Tables:
        (matrix,) = metrics
        assert isinstance(matrix, ConfusionMatrix), "made so"
        return list_scores(matrix, {"iou": iou, "dice": f1}) | matrix.tables()

    def predict(self, outputs: Tensor) -> Tensor:
        """Probabilities of the classes (n, classes, H, W), float32."""
        return self._probabilities(widen(outputs))

    def initial_loss(self) -> float | None:
        """log C for cross-entropy, by weights or without; for Dice it depends on the areas."""
        return math.log(self._classes) if isinstance(self.loss, PixelCrossEntropy) else None
