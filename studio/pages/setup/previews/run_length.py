"""How long a run will be, from what is known before it starts. No Qt, no torch."""

from __future__ import annotations

from dataclasses import dataclass

from training.config import RunConfig
from training.core.batch_plan import BatchPlan

ASSUMED_SAMPLES = 10_000
"""Taken while the dataset has not been read; whoever shows a figure built on it says so."""


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
