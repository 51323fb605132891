"""Semantic segmentation: each pixel belongs to a class."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from training.config.objective import Segmentation
from training.errors import InputError
from training.facts import IGNORED, DataFacts
from training.objectives.confusion import Confusion, listed, mean_of_known
from training.objectives.numbers import class_weights, widened
from training.objectives.objective import Counter, Objective, Tables


class SegmentationObjective(Objective):
    """Cross-entropy, Dice loss or both over logits (n, classes, H, W) and masks (n, H, W) int64; (n, 1, H, W) for two
    classes under "dice_bce". Pixels of ``IGNORED`` are left out of both.

    Cross-entropy is the mean over pixels, by the weights of their classes where there are any (torch's). The Dice loss of a
    picture is 1 - the mean, over the classes that its mask shows, of (2 * sum(p * t) + smooth) / (sum(p) + sum(t) +
    smooth): p the probability of the class, t 1 in its pixels (Milletari et al., 2016, without squares). Its mean is over
    the pictures that show any class. Absent classes have no Dice of their own: what is wrongly called so is missing where
    it belongs.
    """

    weighs = True

    def __init__(self, config: Segmentation, facts: DataFacts, device: torch.device) -> None:
        self._classes = len(facts.names)
        self._single = config.loss == "dice_bce"
        self.probabilities = "sigmoid" if self._single else "softmax"
        super().__init__(facts, 1 if self._single else self._classes, device)
        if self._single and self._classes != 2:
            raise InputError(
                f"objective.loss: dice_bce is for masks of two classes, but the data has {self._classes}; choose "
                "dice_cross_entropy.",
                fix={"objective.loss": "dice_cross_entropy"},
            )
        self._smooth = config.smooth
        self._weights = class_weights(config.class_weights, config.balanced, facts, device)
        self._shares = {"cross_entropy": (1.0, 0.0), "dice": (0.0, 1.0)}.get(
            config.loss, (1.0 - config.dice_weight, config.dice_weight)
        )

    def loss_sum(self, outputs: Tensor, targets: Tensor) -> Tensor:
        logits = widened(outputs)
        per_pixel, overlap = self._shares
        terms = [self._cross_entropy(logits, targets)] if per_pixel else []
        terms += [self._dice(logits, targets)] if overlap else []
        return torch.stack(terms)

    def weigh(self, targets: Tensor) -> Tensor:
        per_pixel, overlap = self._shares
        seen = targets != IGNORED
        pixels = seen if self._weights is None else self._weights[targets.clamp(min=0)] * seen
        terms = [pixels.sum().float()] if per_pixel else []
        terms += [seen.flatten(1).any(1).sum().float()] if overlap else []
        return torch.stack(terms)

    def mix(self, means: Tensor) -> Tensor:
        if len(means) == 1:
            return means[0]
        return self._shares[0] * means[0] + self._shares[1] * means[1]

    def _cross_entropy(self, logits: Tensor, targets: Tensor) -> Tensor:
        weights = None if self._weights is None else self._weights.to(logits.dtype)
        if self._single:
            seen = (targets != IGNORED).to(logits.dtype)
            weight = seen if weights is None else weights[targets.clamp(min=0)] * seen
            truth = (targets == 1).to(logits.dtype)
            return functional.binary_cross_entropy_with_logits(logits[:, 0], truth, weight=weight, reduction="sum")
        # As a list of pixels: the kernel for pictures is one of those that never repeat to the bit on a GPU.
        pixels = logits.movedim(1, -1).reshape(-1, self._classes)
        return functional.cross_entropy(
            pixels, targets.reshape(-1), weight=weights, ignore_index=IGNORED, reduction="sum"
        )

    def _dice(self, logits: Tensor, targets: Tensor) -> Tensor:
        """The Dice losses of the batch's pictures, summed."""
        probabilities = self._probabilities(logits).flatten(2)
        classes = torch.arange(self._classes, device=targets.device)[:, None]
        truth = (targets.flatten(1)[:, None] == classes).to(logits.dtype)
        probabilities = probabilities * truth.sum(1, keepdim=True)  # 0 where pixels are ignored
        areas = truth.sum(2)
        both = (probabilities * truth).sum(2)
        scores = (2.0 * both + self._smooth) / (probabilities.sum(2) + areas + self._smooth)
        shown = areas > 0
        losses = torch.where(shown, 1.0 - scores, torch.zeros_like(scores)).sum(1)
        return (losses / shown.sum(1).clamp(min=1)).sum()

    def _probabilities(self, logits: Tensor) -> Tensor:
        if not self._single:
            return functional.softmax(logits, dim=1)
        second = torch.sigmoid(logits)
        return torch.cat([1.0 - second, second], dim=1)

    def counters(self) -> Sequence[Counter]:
        return [_PixelCounter(self._classes, self.device)]

    def predict(self, outputs: Tensor) -> Tensor:
        """Probabilities of the classes (n, classes, H, W), float32."""
        return self._probabilities(widened(outputs))

    def initial_loss(self) -> float | None:
        """log C for cross-entropy, by weights or without; for Dice it depends on the areas."""
        return math.log(self._classes) if self._shares[1] == 0.0 else None


class _PixelCounter(Confusion):
    """mean_iou and dice: over all pixels of the pass, the mean over the classes that were there or were answered;
    pixel_accuracy. Ignored pixels count nowhere."""

    def update(self, outputs: Tensor, targets: Tensor) -> None:
        answers = outputs.argmax(1) if outputs.shape[1] > 1 else (outputs[:, 0] >= 0).long()
        self.count(answers, targets)

    def compute(self) -> dict[str, float]:
        return {
            "mean_iou": mean_of_known(self.iou()),
            "dice": mean_of_known(self.f1()),
            "pixel_accuracy": self.accuracy(),
        }

    def tables(self) -> Tables:
        return {"iou": listed(self.iou()), "dice": listed(self.f1()), **super().tables()}
