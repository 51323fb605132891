"""What is measured beside single numbers: a number for each class, and which class was taken for which."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from training.core.scores import ClassMetrics, Metric

Tables = dict[str, Any]
"""Numbers in lists, or lists of lists, by name; small, as JSON can hold them."""
MOST_SHOWN = 100
"""Classes up to which the whole matrix is kept for people: 10,000 numbers."""


@dataclass
class ConfusionMatrix(ClassMetrics):
    """Counts the pairs of true and answered classes, too, unless there are so many that the matrix would fill memory."""

    def __post_init__(self) -> None:
        super().__post_init__()
        cells = self.classes**2 if self.classes <= MOST_SHOWN else 0
        self.cells = torch.zeros(cells, dtype=torch.int64, device=self.device)

    def count(self, predicted: Tensor, truth: Tensor, counted: Tensor) -> None:
        super().count(predicted, truth, counted)
        if len(self.cells):
            self.cells.index_add_(0, truth * self.classes + predicted, counted)

    def tables(self) -> Tables:
        """ "confusion": a row for each true class; nothing of many classes."""
        return {"confusion": self.cells.view(self.classes, -1).tolist()} if len(self.cells) else {}


def list_scores(metric: Metric, scores: Mapping[str, Callable[[Any], Tensor]]) -> Tables:
    """A number for each class, label, column or value; None, which JSON can hold, in the place of NaN."""
    gathered = metric.gather()
    found = {name: score(gathered).tolist() for name, score in scores.items()}
    return {name: [None if math.isnan(value) else value for value in values] for name, values in found.items()}
