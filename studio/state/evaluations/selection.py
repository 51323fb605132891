"""Which samples of an evaluation are looked at, and why: every view chooses some, and follows what the others chose."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal

from training.predictions import Evaluation

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Criterion:
    """Why samples are chosen. ``view`` is the key of who chose, which has one criterion at a time; ``words`` stand on the chip;
    ``find`` gives the mask, (n,), of the samples that fit, of this evaluation or of another one of the same samples; ``place`` is
    where that lies in the view, for its own mark."""

    view: str
    words: str
    find: Callable[[Evaluation], Mask]
    place: object = None


class Selection(QObject):
    """The samples that fit all criteria. Without criteria these are all.

    Signals:
        evaluation_changed(): another evaluation is looked at, or none; ``changed`` follows.
        changed(): the criteria did, and so did ``rows``.
        looked_at_changed(): another sample is looked at.
    """

    evaluation_changed = Signal()
    changed = Signal()
    looked_at_changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.evaluation: Evaluation | None = None
        self.rows: NDArray[np.int64] = np.zeros(0, np.int64)
        self.looked_at = -1  # the row of the one sample that some views tell more of; -1 before one is listed
        self._criteria: dict[str, Criterion] = {}
        self._masks: dict[str, Mask] = {}

    @property
    def criteria(self) -> Mapping[str, Criterion]:
        """By the key of the view that chose, the oldest first."""
        return self._criteria

    @property
    def total(self) -> int:
        """How many samples there are to choose from."""
        return self.evaluation.record.samples if self.evaluation is not None else 0

    def show(self, evaluation: Evaluation | None) -> None:
        """Look at another evaluation. One of the same samples (another epoch of them) is looked at by the same criteria."""
        if not _have_same_samples(self.evaluation, evaluation):
            self._criteria, self.looked_at = {}, -1
        self.evaluation = evaluation
        self._masks = {} if evaluation is None else {key: each.find(evaluation) for key, each in self._criteria.items()}
        self._find_rows()
        self.evaluation_changed.emit()
        self.changed.emit()

    def look_at(self, row: int) -> None:
        """Have more told of the sample in ``row`` of the evaluation."""
        if row != self.looked_at and 0 <= row < self.total:
            self.looked_at = row
            self.looked_at_changed.emit()

    def choose(self, criterion: Criterion) -> None:
        """Look only at the samples that fit this, too; it takes the place of what the same view chose before."""
        if self.evaluation is None:
            return
        self._masks[criterion.view] = criterion.find(self.evaluation)
        self._criteria[criterion.view] = criterion
        self._tell()

    def remove(self, view: str) -> None:
        """Forget what ``view`` chose."""
        if self._criteria.pop(view, None) is not None:
            del self._masks[view]
            self._tell()

    def clear(self) -> None:
        """Look at all samples."""
        if self._criteria:
            self._criteria, self._masks = {}, {}
            self._tell()

    def mask_of_others(self, view: str) -> Mask | None:
        """The samples that fit what the other views chose, (n,); None for all. A view counts these: what it chose itself is
        marked in it, and does not empty the rest of it."""
        masks = [mask for key, mask in self._masks.items() if key != view]
        return np.logical_and.reduce(masks) if masks else None

    def _tell(self) -> None:
        self._find_rows()
        self.changed.emit()

    def _find_rows(self) -> None:
        masks = list(self._masks.values())
        self.rows = np.flatnonzero(np.logical_and.reduce(masks)) if masks else np.arange(self.total)


def _have_same_samples(one: Evaluation | None, other: Evaluation | None) -> bool:
    if one is None or other is None:
        return False
    a, b = one.record, other.record
    return (a.on, a.fingerprint, a.samples, a.names) == (b.on, b.fingerprint, b.samples, b.names) and np.array_equal(
        one.column("index"), other.column("index")
    )
