"""Which class was taken for which: counts of an evaluation, and the mistakes that are made most often."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.predictions.reading import Evaluation

Counts = NDArray[np.int64]


def count_confusions(
    target: NDArray[np.integer], prediction: NDArray[np.integer], classes: int, mask: NDArray[np.bool_] | None = None
) -> Counts:
    """(classes, classes): a row for each true class, a column for each answer, of the samples in ``mask`` or of all."""
    cells = target.astype(np.int64) * classes + prediction
    chosen = cells if mask is None else cells[mask]
    return np.bincount(chosen, minlength=classes * classes).reshape(classes, classes)


class Mistake(NamedTuple):
    """One class that was taken for another, how often, and what share of the true class that is."""

    true: int
    predicted: int
    samples: int
    share: float


def find_mistakes(counts: Counts, most: int) -> list[Mistake]:
    """The mistakes that were made most often, of a matrix (classes, classes)."""
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    cells = wrong.ravel()
    there = int((cells > 0).sum())
    best = np.argsort(-cells, kind="stable")[: min(most, there)]
    support = counts.sum(1)
    rows, columns = np.divmod(best, len(counts))
    return [
        Mistake(row, column, int(wrong[row, column]), int(wrong[row, column]) / int(support[row]))
        for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
    ]


def find_cells(evaluation: Evaluation, *, top: int, left: int, bottom: int, right: int) -> NDArray[np.bool_]:
    """The samples in a box of cells, whose edges are included."""
    target, prediction = evaluation.column("target"), evaluation.column("prediction")
    return np.asarray((target >= top) & (target <= bottom) & (prediction >= left) & (prediction <= right))
