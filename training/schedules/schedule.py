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
