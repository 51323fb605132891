"""The learning rate as a pure function of the attempted optimizer step.

``lr(0)`` is the rate the first step uses. Each schedule equals torch's class of that name stepped once after every optimizer
step, or with ``every`` = "epoch" once after every epoch: then all below is counted in epochs, of which a run that ends inside one
counts that one, too. After a warm-up of W steps the schedule proper sees ``t = step - W`` and has ``total_steps - W`` steps
to lay itself out over: that is torch's ``T_max`` or ``total_iters``. As in torch, the low end would be reached at step
``total_steps``, so the last real step lies one before it; ``OneCycleLR`` alone reaches its end at the last step itself.
Past the end the last value is held.

No torch here: the window draws the curve with these functions.
"""

from __future__ import annotations

from training.schedules.plateau import PlateauState
from training.schedules.schedule import Schedule, ScheduleConfig, make_run_schedule, make_schedule, swa_first
from training.schedules.words import describe

__all__ = ["PlateauState", "Schedule", "ScheduleConfig", "describe", "make_run_schedule", "make_schedule", "swa_first"]
