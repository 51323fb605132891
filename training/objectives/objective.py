"""What every task offers the loop."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from training import catalog
from training.config.objective import Objective as ObjectiveConfig
from training.errors import InputError
from training.facts import DataFacts

Tables = dict[str, Any]
"""Numbers in lists, or lists of lists, by name; small, as JSON can hold them."""


class Counter(ABC):
    """Metrics over all samples of a pass, gathered on the device without waiting for it."""

    @abstractmethod
    def update(self, outputs: Tensor, targets: Tensor) -> None:
        """Take in one batch: what the model answered and the targets."""

    @abstractmethod
    def compute(self) -> dict[str, float]:
        """Each metric by its name, over all that was taken in; NaN where that does not say. Waits for the device."""

    def tables(self) -> Tables:
        """What is more than a number: "confusion", or a number for each class."""
        return {}


class Objective(ABC):
    """A task: loss, metrics and the form of a prediction.

    The loss of a window is a mean: over samples or, where ``weighs``, over what ``weigh`` counts (pixels that are not to be
    ignored, samples by the weight of their class). A sum and its weights may have several terms, each with a mean of its
    own, which ``mix`` brings together.
    """

    outputs: int
    """How many numbers the model is to answer for each sample (pixel, token, item)."""
    weighs = False
    unmeasured: Mapping[str, str] = {}
    """Metrics of the settings that such data has none of, each with the reason, a clause."""
    probabilities: Literal["softmax", "sigmoid", "none"] = "none"
    """What makes probabilities of the outputs, for whoever uses an exported model."""
    spread: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    """Mean and standard deviation of each value to predict, where the model learns them with zero mean and unit spread: an
    exported model answers outputs * std + mean."""

    def __init__(self, facts: DataFacts, outputs: int, device: torch.device) -> None:
        self.facts = facts
        self.outputs = outputs
        self.device = device

    @abstractmethod
    def loss_sum(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The loss summed over the batch: float32, 0-dim, or (terms,)."""

    def weigh(self, targets: Tensor) -> Tensor:
        """What ``loss_sum`` is to be divided by, summed over the batch: float32, shaped alike. Asked only if ``weighs``."""
        raise NotImplementedError

    def mix(self, means: Tensor) -> Tensor:
        """The loss from the mean of each term; linear."""
        return means

    def loss(self, outputs: Tensor, targets: Tensor, weight: int | Tensor) -> Tensor:
        """The batch's share of a mean over a window of ``weight``: the samples, or what ``weigh`` gave for all batches.

        0 of a window without anything that counts, as when all its pixels are to be ignored.
        """
        if self.weighs:
            weight = weight + (weight == 0)  # nothing counts, so the sum is 0, too
        return self.mix(self.loss_sum(outputs, targets) / weight)

    @abstractmethod
    def counters(self) -> Sequence[Counter]:
        """Fresh counters of the metrics that are reported beside the loss, the usual one first."""

    @abstractmethod
    def predict(self, outputs: Tensor) -> Tensor:
        """Model outputs in the form shown to a person."""

    @abstractmethod
    def initial_loss(self) -> float | None:
        """The average loss of a model that knows nothing yet; a much higher one points to a mistake. None: not known."""


class Totals:
    """The loss and the metrics of one pass over samples, gathered on the device without waiting for it.

    Losses are summed in float64; where the device has none (mps) they wait as float32 and are summed when asked for.
    """

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self._counters = list(objective.counters())
        self._wide = objective.device.type != "mps"
        self._losses: Tensor | None = None
        self._weights: Tensor | None = None
        self._waiting: list[tuple[Tensor, Tensor | None]] = []
        self.samples = 0

    @torch.no_grad()
    def add(self, outputs: Tensor, targets: Tensor) -> None:
        """Take in one batch."""
        objective = self._objective
        loss = objective.loss_sum(outputs, targets)
        weight = objective.weigh(targets) if objective.weighs else None
        if self._wide:
            self._sum(loss, weight)
        else:
            self._waiting.append((loss, weight))
        for counter in self._counters:
            counter.update(outputs, targets)
        self.samples += targets.shape[0]

    def _sum(self, loss: Tensor, weight: Tensor | None) -> None:
        if self._losses is None:
            self._losses = torch.zeros_like(loss, dtype=torch.float64)
            self._weights = None if weight is None else torch.zeros_like(weight, dtype=torch.float64)
        self._losses.add_(loss)
        if self._weights is not None and weight is not None:
            self._weights.add_(weight)

    def metrics(self, prefix: str = "") -> dict[str, float]:
        """The loss and each metric over all samples so far, named ``prefix`` + name. Waits for the device. Empty before any
        sample.

        All are NaN where the sum of losses is: a class and an order can be read from answers that are no numbers, too, and
        a model that fell apart would look like one that guesses.
        """
        for loss, weight in self._waiting:
            self._sum(loss.cpu(), None if weight is None else weight.cpu())
        self._waiting.clear()
        if self._losses is None:
            return {}
        mean = self._losses / (self.samples if self._weights is None else self._weights)
        found = {"loss": self._objective.mix(mean).item()}
        for counter in self._counters:
            found |= counter.compute()
        broken = bool(self._losses.isnan().any())
        return {f"{prefix}{name}": math.nan if broken else value for name, value in found.items()}

    def tables(self) -> Tables:
        """What was gathered and is more than a number. Waits for the device. Empty before any sample."""
        found: Tables = {}
        for counter in self._counters if self.samples else ():
            found |= counter.tables()
        return found


def make_objective(config: ObjectiveConfig, facts: DataFacts, device: torch.device) -> Objective:
    """The objective ``config`` describes for such data, on ``device``. Raises InputError when the data does not suit it."""
    if facts.target in ("class", "mask", "tokens") and len(facts.names) < 2:
        only = f" ({facts.names[0]})" if facts.names else ""
        raise InputError(f"dataset: there is only one class{only}, so there is nothing to learn.", "Add another.")
    made: Objective = catalog.resolve(catalog.entry("objective", config.kind))(config, facts, device)
    return made
