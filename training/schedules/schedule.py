"""What every schedule can be asked, and the schedule of a configuration."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from training import catalog
from training.config import RunConfig
from training.config.rules.schedule_problems import duration_problems, goes_by_epochs
from training.config.sections import schedule as sections
from training.core.durations import count_duration, count_epochs
from training.errors import ConfigError
from training.schedules.plateau import PlateauState

ScheduleConfig = sections.ScheduleSection | sections.OneCycle


@dataclass(frozen=True)
class Schedule:
    """Rate (and momentum) at each attempted optimizer step, 0 being the first. A momentum (Adam: first beta) of None leaves the
    optimizer's own; ``plateau`` holds the few numbers that a plateau schedule remembers."""

    lr: Callable[[int], float]
    momentum: Callable[[int], float | None] = lambda step: None
    plateau: PlateauState | None = None


@dataclass(frozen=True)
class Span:
    """How long a run is, in the unit that its schedule goes by: optimizer steps, or epochs."""

    total_steps: int
    steps_per_epoch: int
    by_epochs: bool = False

    @property
    def total(self) -> int:
        """The steps or epochs of the run."""
        return count_epochs(self.total_steps, self.steps_per_epoch) if self.by_epochs else self.total_steps

    def count(self, duration: int | str) -> int:
        """The steps or epochs of ``duration``. ValueError where it is no whole number of epochs."""
        every = "epoch" if self.by_epochs else "step"
        return count_duration(duration, self.total_steps, self.steps_per_epoch, every)

    def unit(self, step: int) -> int:
        """In which unit the optimizer step ``step`` (0 = first) lies."""
        return step // self.steps_per_epoch if self.by_epochs else step


def make_schedule(config: ScheduleConfig, base_lr: float, total_steps: int, steps_per_epoch: int) -> Schedule:
    """The schedule ``config`` describes, for a run of ``total_steps`` optimizer steps at the optimizer's ``base_lr``: of the
    steps, or with ``every`` = "epoch" of the epochs, through which it stays as it is.

    Raises ConfigError when the warm-up is not shorter than the run, or a duration no whole number of epochs.
    """
    if min(total_steps, steps_per_epoch) < 1:
        raise ValueError(f"total_steps must be at least 1, as steps_per_epoch: {total_steps}, {steps_per_epoch}")
    span = Span(total_steps, steps_per_epoch, goes_by_epochs(config))
    impossible = [
        problem
        for problem in duration_problems(config, total_steps, steps_per_epoch)
        if span.by_epochs or problem.path in ("schedule.warmup", "schedule.gamma")
    ]
    if impossible:
        raise ConfigError(impossible)
    kind = str(type(config).model_fields["kind"].default)
    make: Callable[[ScheduleConfig, float, Span], Schedule] = catalog.resolve(catalog.entry("schedule", kind))
    schedule = make(config, base_lr, span)
    if not span.by_epochs:
        return schedule
    by_epoch = schedule
    return replace(
        by_epoch,
        lr=lambda step: by_epoch.lr(span.unit(step)),
        momentum=lambda step: by_epoch.momentum(span.unit(step)),
    )


def make_run_schedule(config: RunConfig, total_steps: int, steps_per_epoch: int) -> Schedule:
    """``make_schedule`` for all that a run's settings say: while weights are averaged the rate of SWA takes the place of the
    schedule's, as in torch's ``SWALR`` with ``anneal_epochs=0``."""
    before, loop = make_schedule(config.schedule, config.optimizer.lr, total_steps, steps_per_epoch), config.loop
    if loop.swa_start is None or loop.swa_lr is None:
        return before
    first, rate = swa_first(loop.swa_start, total_steps), loop.swa_lr
    return replace(before, lr=lambda step: rate if step >= first else before.lr(step))


def swa_first(swa_start: float, total_steps: int) -> int:
    """The step (0 = first) from which on SWA's rate is used, and behind which weights are averaged."""
    return math.floor(swa_start * total_steps)
