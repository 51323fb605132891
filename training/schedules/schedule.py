"""What every schedule can be asked, and the schedule of a configuration."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from training import catalog
from training.config import RunConfig
from training.config.sections import schedule as sections
from training.errors import ConfigError, Problem
from training.schedules.plateau import PlateauState

ScheduleConfig = sections.ScheduleSection | sections.OneCycle


@dataclass(frozen=True)
class Schedule:
    """Rate (and momentum) at each attempted optimizer step, 0 being the first. A momentum (Adam: first beta) of None leaves the
    optimizer's own; ``plateau`` holds the few numbers that a plateau schedule remembers."""

    lr: Callable[[int], float]
    momentum: Callable[[int], float | None] = lambda step: None
    plateau: PlateauState | None = None


def make_schedule(config: ScheduleConfig, base_lr: float, total_steps: int) -> Schedule:
    """The schedule ``config`` describes, for a run of ``total_steps`` optimizer steps at the optimizer's ``base_lr``.

    Raises ConfigError when the warm-up is not shorter than the run.
    """
    if total_steps < 1:
        raise ValueError(f"total_steps must be at least 1, but is {total_steps}")
    if isinstance(config, sections.ScheduleSection) and config.warmup_steps >= total_steps:
        what = f"the warm-up of {config.warmup_steps} steps must be shorter than the run, which has {total_steps}"
        raise ConfigError([Problem("schedule.warmup_steps", f"{what}; shorten the warm-up or train longer.")])
    kind = str(type(config).model_fields["kind"].default)
    make: Callable[[ScheduleConfig, float, int], Schedule] = catalog.resolve(catalog.entry("schedule", kind))
    return make(config, base_lr, total_steps)


def make_run_schedule(config: RunConfig, total_steps: int) -> Schedule:
    """``make_schedule`` for all that a run's settings say: while weights are averaged the rate of SWA takes the place of the
    schedule's, as in torch's ``SWALR`` with ``anneal_epochs=0``."""
    before, loop = make_schedule(config.schedule, config.optimizer.lr, total_steps), config.loop
    if loop.swa_start is None or loop.swa_lr is None:
        return before
    first, rate = swa_first(loop.swa_start, total_steps), loop.swa_lr
    return replace(before, lr=lambda step: rate if step >= first else before.lr(step))


def swa_first(swa_start: float, total_steps: int) -> int:
    """The step (0 = first) from which on SWA's rate is used, and behind which weights are averaged."""
    return math.floor(swa_start * total_steps)
