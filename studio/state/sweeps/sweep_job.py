"""Work on a sweep in a process of its own: ``python -m training sweep work SWEEP``."""

from __future__ import annotations

from PySide6.QtCore import QObject

from studio.services.settings import SettingsStore
from studio.state.side_job import SideJob
from training.sweeps.folder import Sweep


class SweepJob(SideJob):
    """Ends with the window. ``finished``: the sweep has nothing left to begin."""

    def __init__(self, settings: SettingsStore, parent: QObject | None = None) -> None:
        super().__init__(settings, parent)
        self.sweep: Sweep | None = None  # that under way, or the last one

    def start(self, sweep: Sweep) -> None:
        """Begin its trials, or go on where they were."""
        if not self.is_busy:
            self.sweep = sweep
            self._launch(["sweep", "work", str(sweep.path)])

    def is_working(self, sweep: Sweep) -> bool:
        """Whether that one is under way in this window."""
        return self.is_busy and self.sweep is not None and self.sweep.path == sweep.path

    def _read_progress(self) -> None:
        """What it has come to is read from its folder by who shows it."""
