"""Metrics over all thresholds at once: area under the ROC curve, and average precision."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from training.objectives.confusion import listed, mean_of_known
from training.objectives.objective import Counter, Tables


class Curves(Counter):
    """auroc and average precision of each column against its truth, by torchmetrics, exactly; the mean over columns.

    A column that was never or always true has neither (NaN) and is left out of the mean. All scores are kept on the device
    until the pass has ended.
    """

    def __init__(self, precision: str = "average_precision") -> None:
        """``precision`` is how the mean average precision is called."""
        self._precision = precision
        self._scores: list[Tensor] = []
        self._truth: list[Tensor] = []
        self._found: tuple[Tensor, Tensor] | None = None

    def update(self, outputs: Tensor, targets: Tensor) -> None:
        """Scores in [0, 1] (n, columns), and what is true, bool of that shape."""
        self._scores.append(outputs)
        self._truth.append(targets)

    def compute(self) -> dict[str, float]:
        areas, precisions = self._columns()
        return {"auroc": mean_of_known(areas), self._precision: mean_of_known(precisions)}

    def tables(self) -> Tables:
        areas, precisions = self._columns()
        return {"auroc": listed(areas), "average_precision": listed(precisions)} if len(areas) > 1 else {}

    def _columns(self) -> tuple[Tensor, Tensor]:
        """float64 (columns,) each."""
        if self._found is None:
            from torchmetrics.functional.classification import binary_auroc, binary_average_precision

            pairs = list(zip(*self._kept(), strict=True))
            either = [bool(truth.any()) and not bool(truth.all()) for _, truth in pairs]
            found = [
                [measure(scores, truth.long()).item() if known else math.nan for measure in measures]
                for (scores, truth), known in zip(pairs, either, strict=True)
                for measures in [(binary_auroc, binary_average_precision)]
            ]
            self._found = tuple(torch.tensor(found, dtype=torch.float64).unbind(1))  # type: ignore[assignment]
        assert self._found is not None
        return self._found

    def _kept(self) -> tuple[Tensor, Tensor]:
        """Scores and truth with a row for each column."""
        return torch.cat(self._scores).T.contiguous(), torch.cat(self._truth).T.contiguous()


class ClassCurves(Curves):
    """Each class against the rest, from logits (n, classes) and targets (n,) int64."""

    def __init__(self, classes: int, ignored: int) -> None:
        super().__init__()
        self._classes = classes
        self._ignored = ignored

    def update(self, outputs: Tensor, targets: Tensor) -> None:
        if targets.is_floating_point():  # probabilities, of mixed samples
            targets = targets.argmax(dim=-1)
        super().update(outputs.float().softmax(dim=-1), targets)

    def _kept(self) -> tuple[Tensor, Tensor]:
        scores, targets = torch.cat(self._scores), torch.cat(self._truth)
        counted = targets != self._ignored
        scores, targets = scores[counted], targets[counted]
        return scores.T.contiguous(), targets == torch.arange(self._classes, device=targets.device)[:, None]
