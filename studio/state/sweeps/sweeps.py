"""The sweeps of the window: the list of them, and the one at work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject

from studio.services.background import Background
from studio.services.settings import SettingsStore
from studio.state.sweeps.sweep_job import SweepJob
from studio.state.sweeps.sweep_list import SweepList
from training.sweeps.folder import Sweep

_OTHER = "Another sweep is at work in this window. Wait for its end, or stop it."


class Sweeps(QObject):
    """``find_rival`` says in a sentence what of this window must not work beside a sweep; "" for nothing. ``waiting`` is
    the thread for what a lock, or a database, may let wait."""

    def __init__(
        self,
        workspace: Path,
        settings: SettingsStore,
        background: Background,
        find_rival: Callable[[], str],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._find_rival = find_rival
        self.waiting = background.make_other()
        self.list = SweepList(workspace, background, self)
        self.job = SweepJob(settings, self)

    @property
    def is_busy(self) -> bool:
        """Whether one works."""
        return self.job.is_busy

    def find_obstacle(self) -> str:
        """Why none can begin now, in a sentence; "" where one can."""
        return _OTHER if self.is_busy else self._find_rival()

    def begin(self, sweep: Sweep) -> str:
        """Begin it, or go on with it; returns why that is not possible now."""
        if problem := self.find_obstacle():
            return problem
        self.job.begin(sweep)
        return ""
