"""Work on a sweep in a process of its own: ``python -m training sweep work SWEEP``."""

from __future__ import annotations

from studio.state.side_job import FolderJob
from training.sweeps.folder import Sweep


class SweepJob(FolderJob):
    """``finished``: the sweep has nothing left to begin."""

    setting = "sweep_at_work"

    def begin(self, sweep: Sweep) -> None:
        """Begin its trials, or go on where they were."""
        self._begin(sweep.path, ["sweep", "work", str(sweep.path)])
