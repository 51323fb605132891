"""Losses: what each sums over a batch, and what such sums are divided by.

The mean that is minimized is one over all batches of an optimizer step, however short the last of them is. Losses are
summed in float32, or float64 where the model answers in it; half precision would lose digits in a softmax and overflow
in a sum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional


class Loss(ABC):
    """A mean over the samples of an optimizer step, taken batch by batch."""

    @abstractmethod
    def sum(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The loss summed over a batch: 0-dim, or (terms,) where means of several terms are combined."""

    def weigh(self, targets: Tensor) -> int | Tensor:
        """What the sum over this batch counts for in the mean, shaped alike: here its samples."""
        return len(targets)

    def combine(self, means: Tensor) -> Tensor:
        """The loss from the mean of each term; linear."""
        return means

    def __call__(self, outputs: Tensor, targets: Tensor, weight: float | Tensor) -> Tensor:
        """The batch's share of the mean over a step, 0-dim; ``weight`` is the sum of what its batches weigh."""
        weight = weight + (weight == 0)  # where nothing counts the sum is 0, too
        return self.combine(self.sum(outputs, targets) / weight)


def widen(outputs: Tensor) -> Tensor:
    """float32 at least."""
    return outputs if outputs.dtype == torch.float64 else outputs.float()


# ------------------------------------------------------------------------------------------------------- classes


@dataclass
class CrossEntropy(Loss):
    """``nn.CrossEntropyLoss`` of logits (n, classes) and targets int64 (n,), or (n, classes) of mixed samples."""

    label_smoothing: float = 0.0

    def sum(self, outputs: Tensor, targets: Tensor) -> Tensor:
        outputs = widen(outputs)
        targets = targets.to(outputs.dtype) if targets.is_floating_point() else targets
        return functional.cross_entropy(outputs, targets, reduction="sum", label_smoothing=self.label_smoothing)


@dataclass
class WeightedCrossEntropy(Loss):
    """``nn.CrossEntropyLoss`` with ``weight`` float32 (classes,) or ``ignore_index``: the mean is over the weights of
    the samples' classes, and of mixed samples over samples."""

    weight: Tensor | None = None
    ignore_index: int = -100
    label_smoothing: float = 0.0

    def sum(self, outputs: Tensor, targets: Tensor) -> Tensor:
        outputs = widen(outputs)
        return functional.cross_entropy(
            outputs,
            targets.to(outputs.dtype) if targets.is_floating_point() else targets,
            weight=None if self.weight is None else self.weight.to(outputs.dtype),
            ignore_index=self.ignore_index,
            reduction="sum",
            label_smoothing=self.label_smoothing,
        )

    def weigh(self, targets: Tensor) -> Tensor:
        if targets.is_floating_point():
            return targets.new_full((), len(targets), dtype=torch.float32)
        return weigh_classes(targets, self.weight, self.ignore_index)


def weigh_classes(targets: Tensor, weight: Tensor | None, ignore_index: int) -> Tensor:
    """The sum of the weights of all targets' classes, or how many there are, float32 0-dim; without those to ignore."""
    counted = targets != ignore_index
    return counted.sum().float() if weight is None else (weight[targets.clamp(min=0)] * counted).sum()


@dataclass
class TokenCrossEntropy(Loss):
    """``nn.CrossEntropyLoss`` of logits (n, T, tokens) and the tokens that follow, int64 (n, T): the mean over all
    places that are not ``ignore_index``."""

    ignore_index: int = -100
    label_smoothing: float = 0.0

    def sum(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return functional.cross_entropy(
            widen(outputs).flatten(0, -2),
            targets.flatten(),
            ignore_index=self.ignore_index,
            reduction="sum",
            label_smoothing=self.label_smoothing,
        )

    def weigh(self, targets: Tensor) -> Tensor:
        return weigh_classes(targets, None, self.ignore_index)


@dataclass
class BinaryCrossEntropy(Loss):
    """``nn.BCEWithLogitsLoss`` of one logit (n, 1) for the second of two classes; targets int64 (n,), or (n, 2) of
    mixed samples. ``pos_weight`` is float32 (1,)."""

    pos_weight: Tensor | None = None

    def sum(self, outputs: Tensor, targets: Tensor) -> Tensor:
        logits = widen(outputs)[:, 0]
        share = targets[:, 1] if targets.is_floating_point() else targets  # how much of each is of the second class
        return functional.binary_cross_entropy_with_logits(
            logits,
            share.to(logits.dtype),
            pos_weight=None if self.pos_weight is None else self.pos_weight.to(logits.dtype),
            reduction="sum",
        )


@dataclass
class MultiLabelCrossEntropy(Loss):
    """``nn.BCEWithLogitsLoss`` of logits (n, labels) and targets (n, labels) of 0 and 1: the mean over labels, then
    over samples. ``pos_weight`` is float32 (labels,)."""

    pos_weight: Tensor | None = None

    def sum(self, outputs: Tensor, targets: Tensor) -> Tensor:
        outputs = widen(outputs)
        total = functional.binary_cross_entropy_with_logits(
            outputs,
            targets.to(outputs.dtype),
            pos_weight=None if self.pos_weight is None else self.pos_weight.to(outputs.dtype),
            reduction="sum",
        )
        return total / targets.shape[1]


@dataclass
class DistillationLoss(Loss):
    """alpha * T² * KL(teacher || student), both softened by the ``temperature`` T, + (1 - alpha) * cross-entropy.

    Hinton, Vinyals and Dean, 2015; T² keeps the gradients' size. The mean is over samples, as
    ``nn.KLDivLoss(reduction="batchmean")`` takes it. Targets are those that ``with_answers`` makes."""

    temperature: float
    alpha: float

    def sum(self, outputs: Tensor, targets: Tensor) -> Tensor:
        outputs = widen(outputs)
        truth, answers = split_answers(targets, outputs.shape[1])
        soft = functional.kl_div(
            functional.log_softmax(outputs / self.temperature, dim=1),
            functional.log_softmax(answers.to(outputs.dtype) / self.temperature, dim=1),
            reduction="sum",
            log_target=True,
        )
        hard = CrossEntropy().sum(outputs, truth)
        return self.alpha * self.temperature**2 * soft + (1.0 - self.alpha) * hard


def with_answers(targets: Tensor, logits: Tensor) -> Tensor:
    """Targets (n,) int64, or (n, classes) of mixed samples, and behind them the teacher's logits (n, classes): float32
    (n, 1 + classes) or (n, classes + classes)."""
    classes = targets if targets.is_floating_point() else targets[:, None].float()  # exact up to 16 million classes
    return torch.cat([classes, logits.float()], dim=1)


def split_answers(targets: Tensor, classes: int) -> tuple[Tensor, Tensor]:
    """The targets and the teacher's logits that ``with_answers`` joined."""
    truth, answers = targets[:, :-classes], targets[:, -classes:]
    return truth[:, 0].long() if truth.shape[1] == 1 else truth, answers


# ----------------------------------------------------------------------------------------------- values and orders


@dataclass
class ValueLoss(Loss):
    """An error of outputs (n, values) against targets (n, values): the mean over values, then over samples.

    ``error`` measures it as ``functional.mse_loss``, ``l1_loss`` and ``huber_loss`` do."""

    error: Callable[..., Tensor]

    def sum(self, outputs: Tensor, targets: Tensor) -> Tensor:
        outputs = widen(outputs)
        total: Tensor = self.error(outputs, targets.to(outputs.dtype), reduction="sum")
        return total / targets.shape[1]


@dataclass
class StandardizedValueLoss(ValueLoss):
    """The same of targets in standard deviations ``std`` from their ``mean``, both float32 (values,)."""

    mean: Tensor
    std: Tensor

    def sum(self, outputs: Tensor, targets: Tensor) -> Tensor:
        mean, std = (each.to(widen(outputs).dtype) for each in (self.mean, self.std))
        return super().sum(outputs, (targets.to(mean.dtype) - mean) / std)


def weighted_error(
    outputs: Tensor, targets: Tensor, reduction: str, errors: Sequence[tuple[float, Callable[..., Tensor]]]
) -> Tensor:
    """The sum of weight * error."""
    (weight, error), *more = errors
    total = weight * error(outputs, targets, reduction=reduction)
    for weight, error in more:
        total = total + weight * error(outputs, targets, reduction=reduction)
    return total


@dataclass
class MarginRanking(Loss):
    """``nn.MarginRankingLoss`` of scores (n, items) or (n, items, 1) against ranks (n, items), the higher the better,
    NaN for no item.

    Each pair of a query's items of which one suits better costs max(0, margin - (its score - the other's)). The loss is
    the mean over a query's pairs, then over the queries that have any."""

    margin: float

    def sum(self, outputs: Tensor, targets: Tensor) -> Tensor:
        scores, better = widen(outputs).reshape(targets.shape), compare_items(targets)
        costs = (self.margin - (scores[:, :, None] - scores[:, None, :])).clamp(min=0.0)
        sums = torch.where(better, costs, torch.zeros_like(costs)).sum((1, 2))
        return (sums / better.sum((1, 2)).clamp(min=1)).sum()

    def weigh(self, targets: Tensor) -> Tensor:
        return compare_items(targets).any(2).any(1).sum().float()


def compare_items(ranks: Tensor) -> Tensor:
    """bool (n, items, items): whether the first suits better than the second; never where one is NaN."""
    return ranks[:, :, None] > ranks[:, None, :]


# --------------------------------------------------------------------------------------------------------- masks


@dataclass
class PixelCrossEntropy(Loss):
    """``nn.CrossEntropyLoss`` of logits (n, classes, H, W) and masks int64 (n, H, W): the mean over the pixels that are
    not ``ignore_index``, by ``weight`` of their classes, float32 (classes,), where there is one."""

    weight: Tensor | None = None
    ignore_index: int = -100

    def sum(self, outputs: Tensor, targets: Tensor) -> Tensor:
        # As a list of pixels: torch's kernel for images never repeats to the bit on a GPU.
        pixels = widen(outputs).movedim(1, -1).reshape(-1, outputs.shape[1])
        weight = None if self.weight is None else self.weight.to(pixels.dtype)
        return functional.cross_entropy(
            pixels, targets.reshape(-1), weight=weight, ignore_index=self.ignore_index, reduction="sum"
        )

    def weigh(self, targets: Tensor) -> Tensor:
        return weigh_classes(targets, self.weight, self.ignore_index)


@dataclass
class PixelBinaryCrossEntropy(PixelCrossEntropy):
    """The same of one logit (n, 1, H, W) for the second of two classes, as ``nn.BCEWithLogitsLoss`` has it."""

    def sum(self, outputs: Tensor, targets: Tensor) -> Tensor:
        logits = widen(outputs)[:, 0]
        counted = (targets != self.ignore_index).to(logits.dtype)
        weight = counted if self.weight is None else self.weight.to(logits.dtype)[targets.clamp(min=0)] * counted
        truth = (targets == 1).to(logits.dtype)
        return functional.binary_cross_entropy_with_logits(logits, truth, weight=weight, reduction="sum")


@dataclass
class DiceLoss(Loss):
    """1 - the Dice overlap of what is answered and what is true; negative targets are ignored.

    An image's is the mean, over the classes that its mask shows, of 1 - (2 * sum(p * t) + smooth) / (sum(p) + sum(t) +
    smooth): p the probability of the class, t 1 in its pixels (Milletari et al., 2016, without squares). The loss is
    the mean over the images that show any class. Absent classes have no Dice of their own: what is wrongly called so is
    missing where it belongs. ``probabilities`` makes them of the outputs, (n, classes, H, W)."""

    probabilities: Callable[[Tensor], Tensor]
    smooth: float

    def sum(self, outputs: Tensor, targets: Tensor) -> Tensor:
        probabilities = self.probabilities(widen(outputs)).flatten(2)
        classes = torch.arange(probabilities.shape[1], device=targets.device)[:, None]
        truth = (targets.flatten(1)[:, None] == classes).to(probabilities.dtype)
        probabilities = probabilities * truth.sum(1, keepdim=True)  # 0 where a pixel is ignored
        areas, both = truth.sum(2), (probabilities * truth).sum(2)
        scores = (2.0 * both + self.smooth) / (probabilities.sum(2) + areas + self.smooth)
        shown = areas > 0
        losses = torch.where(shown, 1.0 - scores, torch.zeros_like(scores)).sum(1)
        return (losses / shown.sum(1).clamp(min=1)).sum()

    def weigh(self, targets: Tensor) -> Tensor:
        return (targets >= 0).flatten(1).any(1).sum().float()


def softmax_probabilities(outputs: Tensor) -> Tensor:
    """Of logits (n, classes, ...), of that shape."""
    return functional.softmax(outputs, dim=1)


def sigmoid_probabilities(outputs: Tensor) -> Tensor:
    """Of one logit (n, 1, ...) for the second of two classes: (n, 2, ...)."""
    second = torch.sigmoid(outputs)
    return torch.cat([1.0 - second, second], dim=1)


@dataclass
class CombinedLoss(Loss):
    """The sum of share * loss; each loss is a mean of its own."""

    losses: Sequence[tuple[float, Loss]]

    def sum(self, outputs: Tensor, targets: Tensor) -> Tensor:
        outputs = widen(outputs)  # once, so that the gradients of all losses are added up in float32
        return torch.stack([loss.sum(outputs, targets) for _, loss in self.losses])

    def weigh(self, targets: Tensor) -> Tensor:
        return torch.stack([torch.as_tensor(loss.weigh(targets)) for _, loss in self.losses])

    def combine(self, means: Tensor) -> Tensor:
        (total, *more) = [share * mean for (share, _), mean in zip(self.losses, means, strict=True)]
        for part in more:
            total = total + part
        return total
