"""Multi-label classification: each sample may carry any number of labels."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from training.config.objective import MultiLabel
from training.facts import DataFacts
from training.objectives.confusion import listed, mean_of_known, ratio
from training.objectives.curves import Curves
from training.objectives.numbers import refuse_other_count, widened
from training.objectives.objective import Counter, Objective, Tables


class MultiLabelObjective(Objective):
    """Binary cross-entropy over logits (n, labels) and targets (n, labels) of 0 and 1: the mean over labels, then over
    samples, which is that of ``nn.BCEWithLogitsLoss``."""

    probabilities = "sigmoid"

    def __init__(self, config: MultiLabel, facts: DataFacts, device: torch.device) -> None:
        super().__init__(facts, len(facts.names), device)
        self._threshold = config.threshold
        weights = tuple(config.pos_weight)
        if weights:
            refuse_other_count("objective.pos_weight", weights, facts)
        if config.balanced:  # 1 for a label that no sample or each carries: there is nothing to balance
            carried = [count if 0 < count < facts.samples else 0 for count in facts.counts]
            weights = tuple((facts.samples - count) / count if count else 1.0 for count in carried)
        self._weights = weights
        self.pos_weight = torch.tensor(weights, dtype=torch.float32, device=device) if weights else None

    def loss_sum(self, outputs: Tensor, targets: Tensor) -> Tensor:
        logits, weight = widened(outputs), self.pos_weight
        losses = functional.binary_cross_entropy_with_logits(
            logits,
            targets.to(logits.dtype),
            pos_weight=None if weight is None else weight.to(logits.dtype),
            reduction="sum",
        )
        return losses / self.outputs

    def counters(self) -> Sequence[Counter]:
        return [_LabelCounter(self.outputs, self._threshold, self.device), _LabelCurves("mean_average_precision")]

    def predict(self, outputs: Tensor) -> Tensor:
        """The probability of each label (n, labels), float32; they do not sum to 1."""
        return torch.sigmoid(widened(outputs))

    def initial_loss(self) -> float:
        """log 2, times the weight of each label's samples on average: the loss of probabilities of one half."""
        if not self._weights:
            return math.log(2.0)
        shares = [count / self.facts.samples for count in self.facts.counts] if self.facts.samples else []
        shares = shares or [0.5] * self.outputs
        weighed = [1.0 - share + share * weight for share, weight in zip(shares, self._weights, strict=True)]
        return math.log(2.0) * sum(weighed) / len(weighed)


class _LabelCounter(Counter):
    """f1, the mean of all labels' (macro); f1_micro, of all answers together; subset_accuracy, the share of samples of which
    every label is right."""

    def __init__(self, labels: int, threshold: float, device: torch.device) -> None:
        self._logit = math.log(threshold) - math.log1p(-threshold)
        self._sums = torch.zeros(3, labels, dtype=torch.int64, device=device)  # there, answered, right
        self._whole = torch.zeros((), dtype=torch.int64, device=device)
        self._samples = 0

    def update(self, outputs: Tensor, targets: Tensor) -> None:
        answers, truth = outputs.float() >= self._logit, targets > 0.5
        self._sums[0].add_(truth.sum(0))
        self._sums[1].add_(answers.sum(0))
        self._sums[2].add_((answers & truth).sum(0))
        self._whole.add_((answers == truth).all(dim=1).sum())
        self._samples += len(targets)

    def compute(self) -> dict[str, float]:
        there, answered, right = self._sums.sum(1).tolist()
        return {
            "f1": mean_of_known(self._f1()),
            "f1_micro": ratio(2.0 * right, there + answered),
            "subset_accuracy": self._whole.item() / self._samples,
        }

    def tables(self) -> Tables:
        there, answered, right = self._sums.cpu().double()
        return {"precision": listed(right / answered), "recall": listed(right / there), "f1": listed(self._f1())}

    def _f1(self) -> Tensor:
        there, answered, right = self._sums.cpu().double()
        return 2.0 * right / (there + answered)


class _LabelCurves(Curves):
    def update(self, outputs: Tensor, targets: Tensor) -> None:
        super().update(torch.sigmoid(outputs.float()), targets > 0.5)
