"""What every schedule can be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from training.config import schedule as sections

if TYPE_CHECKING:
    from training.schedules.plateau import PlateauState

ScheduleConfig = sections.ScheduleSection | sections.OneCycle


@runtime_checkable
class Schedule(Protocol):
    """Rate (and momentum) at each attempted optimizer step."""

    @property
    def plateau(self) -> PlateauState | None:
        """The few numbers a plateau schedule remembers; None for every other kind."""

    def lr(self, step: int) -> float:
        """The learning rate that step ``step`` (0 = first) uses."""

    def momentum(self, step: int) -> float | None:
        """The momentum (Adam: first beta) of that step; None leaves the optimizer's own."""


def warmup_factor(config: sections.ScheduleSection, step: int) -> float:
    """The share of the rate that step ``step`` of the warm-up uses; 1 behind it."""
    if step >= config.warmup_steps:
        return 1.0
    return config.warmup_start_factor + (1.0 - config.warmup_start_factor) * step / config.warmup_steps
