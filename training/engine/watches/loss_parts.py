"""Each part of a combined loss, apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.engine.ranks.group import ALONE, Ranks
from training.engine.watches.watch import Given
from training.objectives import Objective
from training.runs.records.columns import Columns


class LossParts:
    """The parts' means over each step, as its loss is one: micro-batches count by the same weights, so that the parts times
    their shares add up to the loss."""

    file = "parts.bin"

    def __init__(self, objective: Objective) -> None:
        self.columns = Columns(tuple(objective.parts), tuple(objective.parts.values()))
        self._mean = objective.loss.mean
        self._loss = objective.loss._replace(mean=self._note)
        self._sums: Tensor | None = None
        self._ranks: Ranks = ALONE
        self._nothing = torch.zeros(len(objective.parts))

    def join(self, ranks: Ranks, device: torch.device) -> None:
        """From here on a step's parts are the sums over all processes."""
        self._ranks, self._nothing = ranks, self._nothing.to(device)

    def find_next(self, step: int) -> int:
        """As ``Watch`` says: all are."""
        return step

    def wrap(self, step: int, given: Given) -> Given:
        """As ``Watch`` says."""
        self._sums = None  # of a window that memory ran out in
        return given._replace(loss=self._loss)

    def take(self) -> Tensor | None:
        """As ``Watch`` says."""
        sums, self._sums = self._sums, None
        if sums is None and self._ranks.count > 1:  # all samples of the step are other processes'
            sums = self._nothing.clone()
        if sums is not None:
            self._ranks.add(sums)
        return sums

    def fold(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """As ``Watch`` says: they are what is written."""
        return values

    def _note(self, totals: Tensor, weights: Any) -> Tensor:
        """``Loss.mean`` of a batch's share, which passes here apart for the last time."""
        means = totals.detach() / weights
        self._sums = means if self._sums is None else self._sums + means
        return self._mean(totals, weights)
