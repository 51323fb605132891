"""What every task offers the loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from training import catalog
from training.config.objective import Classification


@runtime_checkable
class Totals(Protocol):
    """Sums over samples, gathered on the device without waiting for it."""

    samples: int

    def add(self, outputs: Tensor, targets: Tensor, loss_sum: Tensor | None = None) -> None:
        """Take in one batch. ``loss_sum``: its ``Objective.loss_sum`` if that is at hand, which saves computing it."""

    def metrics(self, prefix: str = "") -> dict[str, float]:
        """Averages over all samples so far, named ``prefix`` + name. Waits for the device. Empty before any sample."""

    def state(self) -> dict[str, float]:
        """The sums, for a checkpoint in the middle of an epoch. Waits for the device."""

    def load(self, sums: Mapping[str, float]) -> None:
        """Go on from ``state()``, to the same bits."""


@runtime_checkable
class Objective(Protocol):
    """A task: loss, metrics and the form of a prediction."""

    def loss_sum(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The loss summed over the batch's samples: 0-dim float32, to be divided by the window's sample count."""

    def new_totals(self) -> Totals:
        """Empty totals on the objective's device."""

    def predict(self, outputs: Tensor) -> Tensor:
        """Model outputs in the form shown to a person."""

    def initial_loss(self) -> float:
        """The average loss of a model that knows nothing yet; a much higher one points to a mistake."""


def make_objective(config: Classification, classes: int, device: torch.device) -> Objective:
    """The objective ``config`` describes, for ``classes`` classes on ``device``."""
    make: Callable[[Classification, int, torch.device], Objective] = catalog.resolve(
        catalog.entry("objective", config.kind)
    )
    return make(config, classes, device)
