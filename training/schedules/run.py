"""A schedule by configuration."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from training import catalog
from training.config import RunConfig
from training.config import schedule as sections
from training.errors import ConfigError, Problem
from training.schedules.plateau import PlateauState
from training.schedules.schedule import Schedule, ScheduleConfig


def make_schedule(config: ScheduleConfig, base_lr: float, total_steps: int) -> Schedule:
    """The schedule ``config`` describes, for a run of ``total_steps`` optimizer steps at the optimizer's ``base_lr``.

    Raises ConfigError when the warm-up is not shorter than the run.
    """
    if total_steps < 1:
        raise ValueError(f"total_steps must be at least 1, but is {total_steps}")
    if isinstance(config, sections.ScheduleSection) and config.warmup_steps >= total_steps:
        raise ConfigError(
            [
                Problem(
                    "schedule.warmup_steps",
                    f"the warm-up of {config.warmup_steps} steps must be shorter than the run, which has {total_steps}; "
                    "shorten the warm-up or train longer.",
                )
            ]
        )
    make: Callable[[ScheduleConfig, float, int], Schedule] = catalog.resolve(catalog.entry("schedule", _kind(config)))
    return make(config, base_lr, total_steps)


def make_run_schedule(config: RunConfig, total_steps: int) -> Schedule:
    """``make_schedule`` for all that a run's settings say, the rate of SWA included."""
    schedule = make_schedule(config.schedule, config.optimizer.lr, total_steps)
    if config.loop.swa_start is None or config.loop.swa_lr is None:
        return schedule
    return Held(schedule, swa_first(config.loop.swa_start, total_steps), config.loop.swa_lr)


def swa_first(swa_start: float, total_steps: int) -> int:
    """The step (0 = first) from which on SWA's rate is used, and behind which weights are averaged."""
    return math.floor(swa_start * total_steps)


@dataclass(frozen=True)
class Held:
    """``before`` up to step ``first``, then ``rate`` at every step, as torch's ``SWALR`` with ``anneal_epochs=0``."""

    before: Schedule
    first: int
    rate: float

    @property
    def plateau(self) -> PlateauState | None:
        return self.before.plateau

    def lr(self, step: int) -> float:
        return self.rate if step >= self.first else self.before.lr(step)

    def momentum(self, step: int) -> float | None:
        return self.before.momentum(step)


def _kind(config: ScheduleConfig) -> str:
    return str(type(config).model_fields["kind"].default)
