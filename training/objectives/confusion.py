"""Which class was taken for which: the one count that many metrics follow from."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from training.objectives.objective import Counter, Tables

MOST_SHOWN = 100
"""Classes up to which the whole matrix is kept for people: 10,000 numbers."""


class Confusion(Counter):
    """Counts of true class against answered class, int64 on the device; subclasses say which metrics follow.

    Of many classes only the sums over rows and columns are counted: a matrix of 20,000 classes would fill 3 GB.
    """

    def __init__(self, classes: int, device: torch.device) -> None:
        self.classes = classes
        self.whole = classes <= MOST_SHOWN
        cells = classes * classes if self.whole else 3 * classes
        self._cells = torch.zeros(cells + 1, dtype=torch.int64, device=device)  # the last takes what is not counted

    def count(self, answers: Tensor, truth: Tensor) -> None:
        """Take in class numbers of the same shape; a ``truth`` that is no class is left out."""
        answers, truth = answers.reshape(-1), truth.reshape(-1)
        known = (truth >= 0) & (truth < self.classes)
        if self.whole:
            self._add(truth * self.classes + answers, known)
            return
        self._add(truth, known)
        self._add(answers + self.classes, known)
        self._add(truth + 2 * self.classes, known & (truth == answers))

    def _add(self, cells: Tensor, counted: Tensor) -> None:
        """Not by bincount, which asks a GPU how many numbers there are and waits for the answer."""
        cells = cells.masked_fill(~counted, self._cells.numel() - 1)
        self._cells.index_add_(0, cells, torch.ones_like(cells))

    def matrix(self) -> Tensor:
        """float64 (classes, classes) on the CPU, a row for each true class; only where it is ``whole``."""
        return self._cells[:-1].view(self.classes, self.classes).cpu().double()

    def sums(self) -> tuple[Tensor, Tensor, Tensor]:
        """float64 (classes,) each, on the CPU: how often a class was there, was answered, was answered rightly."""
        if self.whole:
            matrix = self.matrix()
            return matrix.sum(1), matrix.sum(0), matrix.diagonal().clone()
        there, answered, right = self._cells[:-1].view(3, self.classes).cpu().double()
        return there, answered, right

    def accuracy(self) -> float:
        """The share of all that was answered rightly."""
        there, _, right = self.sums()
        return ratio(right.sum().item(), there.sum().item())

    def f1(self) -> Tensor:
        """float64 (classes,): 2 * right / (there + answered), which is the Dice score, too; NaN for a class that was
        neither there nor answered."""
        there, answered, right = self.sums()
        return 2.0 * right / (there + answered)

    def iou(self) -> Tensor:
        """float64 (classes,): intersection over union; NaN for a class that was neither there nor answered."""
        there, answered, right = self.sums()
        return right / (there + answered - right)

    def tables(self) -> Tables:
        return {"confusion": self.matrix().long().tolist()} if self.whole else {}


def ratio(part: float, whole: float) -> float:
    """NaN of nothing."""
    return part / whole if whole else math.nan


def mean_of_known(values: Tensor) -> float:
    """Over those that are numbers; NaN where none is."""
    return values[~values.isnan()].mean().item()


def listed(values: Tensor) -> list[float | None]:
    """As JSON can hold them: None in the place of NaN."""
    return [None if math.isnan(value) else value for value in values.tolist()]
