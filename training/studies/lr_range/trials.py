"""Short runs at several rates, over the whole of the run's own schedule: what the test suggests is only true if they say so."""

from __future__ import annotations

from typing import Any

from training.config import RunConfig
from training.config.sections.schedule import Cadence, Exponential, ScheduleSection
from training.core.durations import count_duration
from training.studies.lr_range.ramp import make_short, with_rate


def make_trial(config: RunConfig, rate: float, steps: int, total_steps: int, steps_per_epoch: int) -> RunConfig:
    """``config`` at that rate in ``steps`` steps instead of ``total_steps``, with its schedule laid out over those."""
    steps = min(steps, total_steps)
    shorter = make_short(with_rate(config, rate), steps)
    return shorter.model_copy(update={"schedule": _shrink(shorter.schedule, steps, total_steps, steps_per_epoch)})


def _shrink(schedule: Any, steps: int, total_steps: int, steps_per_epoch: int) -> Any:
    """The same shape over fewer steps: lengths become shares of the run, and drops per epoch drops at steps."""
    update: dict[str, object] = {}

    def share(duration: int | str) -> int | str:
        count = count_duration(duration, total_steps, steps_per_epoch)
        return f"{100.0 * count / total_steps:.6f} %" if count else 0

    if isinstance(schedule, ScheduleSection):
        for name in ("warmup", "t_0", "step_size"):
            if hasattr(schedule, name):
                update[name] = share(getattr(schedule, name))
        if hasattr(schedule, "milestones"):
            update["milestones"] = tuple(share(each) for each in schedule.milestones)
    if isinstance(schedule, Exponential):
        made = total_steps / (steps_per_epoch if schedule.every == "epoch" else 1)
        update["gamma"] = schedule.gamma ** (made / steps)
    if isinstance(schedule, Cadence):
        update["every"] = "step"
    return schedule.model_copy(update=update)
