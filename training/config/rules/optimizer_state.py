"""What of an optimizer and of averages another run can go on with."""

from __future__ import annotations

from training.config.run import RunConfig
from training.config.sections.optimizer import RMSprop, Sgd
from training.config.sections.schedule import OneCycle

GROUPING = (
    "decay_bias_and_norm", "freeze", "freeze_stages", "unfreeze_epoch", "head_lr_factor", "layer_decay", "adamw_lr_factor"
)  # fmt: skip
"""Settings of ``[optimizer]`` that decide which parameters are grouped together."""


def averaging(config: RunConfig) -> str:
    """The setting that asks for an average of the weights; "" when none does."""
    return (
        "ema_decay" if config.loop.ema_decay is not None else "swa_start" if config.loop.swa_start is not None else ""
    )


def optimizer_obstacle(before: RunConfig, after: RunConfig) -> str:
    """Why the optimizer's numbers do not fit the new one; "" when they do."""
    old, new = before.optimizer, after.optimizer
    if old.kind != new.kind:
        return f"the optimizer is {_name_optimizer(after)} now"
    for name in GROUPING:
        if getattr(old, name, None) != getattr(new, name, None):
            return f"optimizer.{name} groups the weights otherwise"
    for name in ("amsgrad", "centered"):
        if getattr(old, name, None) != getattr(new, name, None):
            return f"optimizer.{name} needs other numbers"
    if keeps_momentum(before) != keeps_momentum(after):
        return f"momentum is {'on' if keeps_momentum(after) else 'off'} now"
    return ""


def keeps_momentum(config: RunConfig) -> bool:
    """Whether SGD or RMSprop keeps momentum buffers; a one-cycle schedule may switch them on."""
    optimizer, schedule = config.optimizer, config.schedule
    if not isinstance(optimizer, Sgd | RMSprop):
        return True
    cycled = isinstance(schedule, OneCycle) and schedule.cycle_momentum and schedule.max_momentum > 0.0
    return cycled or optimizer.momentum > 0.0


def _name_optimizer(config: RunConfig) -> str:
    name = type(config.optimizer).__name__
    return "SGD" if name == "Sgd" else name


def optimizer_numbers(config: RunConfig) -> str:
    """What the optimizer keeps; "" for SGD without momentum, which keeps nothing."""
    if not isinstance(config.optimizer, Sgd):
        return f"{_name_optimizer(config)}'s moments and step counts"
    return "SGD's momentum buffers" if keeps_momentum(config) else ""
