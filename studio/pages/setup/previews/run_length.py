"""How long a run will be and what its checkpoints weigh, from what is known before it starts. No Qt, no torch."""

from __future__ import annotations

from dataclasses import dataclass

from training.config import RunConfig
from training.core.batch_plan import BatchPlan

ASSUMED_SAMPLES = 10_000
"""Taken while the dataset has not been read; whoever shows a figure built on it says so."""

_OPTIMIZER_TENSORS = {"sgd": 1, "adagrad": 1, "rmsprop": 2, "adafactor": 0, "muon": 1}
"""How many tensors of the weights' size each optimizer remembers (Adam: two moments; SGD: the momentum buffer)."""


@dataclass(frozen=True)
class RunLength:
    """``samples`` is the training part; ``assumed`` says that their number is a guess."""

    samples: int
    assumed: bool
    batches: int
    steps_per_epoch: int
    total_steps: int
    limited: bool  # by loop.max_steps, before the epochs end


def run_length(config: RunConfig, samples: int | None) -> RunLength:
    """The steps of ``config`` over ``samples`` training samples (None: not known yet), as the engine counts them."""
    count = ASSUMED_SAMPLES if samples is None else samples
    loop = config.loop
    drop_last = config.loader.drop_last and count >= loop.batch_size  # else the data refuses it
    plan = BatchPlan.of_samples(max(1, count), loop.batch_size, loop.accumulation, drop_last)
    total = loop.total_steps(plan.steps)
    limited = total < plan.steps * loop.epochs
    return RunLength(count, samples is None, plan.batches, plan.steps, total, limited)


def checkpoint_bytes(config: RunConfig, parameter_bytes: int, buffer_bytes: int) -> int:
    """About how large one checkpoint is: weights, what the optimizer remembers, the average of the weights if there is one."""
    copies = 1 + _OPTIMIZER_TENSORS.get(config.optimizer.kind, 2)
    if getattr(config.optimizer, "amsgrad", False) or getattr(config.optimizer, "centered", False):
        copies += 1
    if getattr(config.optimizer, "momentum", None) == 0.0:
        copies -= 1
    averages = 1 if config.loop.ema_decay is not None or config.loop.swa_start is not None else 0
    return parameter_bytes * (copies + averages) + buffer_bytes * (1 + averages)


def training_bytes(config: RunConfig, parameter_bytes: int, buffer_bytes: int) -> int:
    """Memory that weights, gradients and optimizer take while training; activations and data come on top."""
    return checkpoint_bytes(config, parameter_bytes, buffer_bytes) + parameter_bytes
