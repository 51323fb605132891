"""What every task offers the loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from training import catalog
from training.config.sections.objective import Objective as ObjectiveConfig
from training.config.sections.objective import OwnLoss
from training.core.losses import Loss
from training.core.scores import Metric
from training.errors import InputError
from training.facts import DataFacts


@dataclass(frozen=True)
class Objective:
    """A task: its loss and metrics, which are core's."""

    outputs: int
    """How many numbers the model is to answer for each sample (pixel, token, item)."""
    loss: Loss
    metrics: Mapping[str, Metric]
    """What is reported beside the loss, by name, the usual one first."""
    tables: Mapping[str, Metric] = field(default_factory=dict)
    """What is measured and more than a number, by name."""
    unmeasured: Mapping[str, str] = field(default_factory=dict)
    """Metrics of the settings that such data has none of, each with the reason, a clause."""
    probabilities: Literal["softmax", "sigmoid", "none"] = "none"
    """What makes probabilities of the outputs, for whoever uses an exported model."""
    spread: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    """Mean and standard deviation of each value to predict, where the model learns them with zero mean and unit std: an
    exported model answers outputs * std + mean."""
    views: int = 1
    """How often each training sample is shown in its batch, every time augmented in another way."""
    compares_samples: bool = False
    """Whether the loss compares the samples of a batch with each other, so that smaller batches would make it another one."""
    is_embedding: bool = False
    """Whether the outputs are no answers but places: what is close together is alike."""
    unit_length: bool = False
    """Whether outputs count by their direction alone: an exported model answers them divided by their length."""
    initial_loss: float | None = None
    """The average loss of a model that knows nothing yet; a much higher one points to a mistake. None: not known."""

    parts: Mapping[str, float] = field(default_factory=dict)
    """The terms of a combined loss by name, each with its share in it; empty for a loss of one term. Their curves are recorded
    (``engine/watches/loss_parts``). ``loss.function`` then sums each apart, (parts,), in this order; ``loss.weigh`` says what each
    is divided by, (parts,), or all of them are; and ``loss.mean`` brings them together, as ``core.losses.add_means`` with
    ``shares=tuple(parts.values())`` does: loss = the sum of share * part. Names are settings' words, such as ``cross_entropy``."""

    @property
    def is_weighted(self) -> bool:
        """Whether the mean of the loss is over something else than samples, so that ``loss_weight`` has to see targets."""
        return self.loss.weigh is not len

    def loss_weight(self, targets: Tensor) -> int | Tensor:
        """What a batch counts for in the mean of the loss."""
        return self.loss.weigh(targets)


def bind(function: Callable[..., Any], **arguments: Any) -> Callable[..., Any]:
    """``function`` with those of the arguments that are not None: the others are left out, for scripts to leave them out, too."""
    return partial(function, **{name: value for name, value in arguments.items() if value is not None})


def make_objective(
    config: ObjectiveConfig, facts: DataFacts, device: torch.device, code: Path | None = None
) -> Objective:
    """The objective ``config`` describes for such data, on ``device``. ``code`` is a run's copy of a loss that a person wrote. Raises InputError when the data does not suit it."""
    if facts.target in ("class", "mask", "tokens") and len(facts.names) < 2:
        only = f" ({facts.names[0]})" if facts.names else ""
        raise InputError(f"dataset: there is only one class{only}, so there is nothing to learn.", "Add another.")
    make: Callable[..., Objective] = catalog.resolve(catalog.entry("objective", config.kind))
    if isinstance(config, OwnLoss):
        make = partial(make, code=code)
    return make(config, facts, device)
