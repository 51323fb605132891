"""A proof of what a finding proposes, in a process of its own: ``python -m training prove RUN CODE``."""

from __future__ import annotations

from PySide6.QtCore import QObject

from studio.services.settings import SettingsStore
from studio.state.side_job import RunJob
from training.prove.plan import ProofPlan
from training.prove.progress import Reached, read_progress
from training.runs.folder import RunFolder


class ProofJob(RunJob):
    """``finished``: ``run`` has another proof."""

    def __init__(self, settings: SettingsStore, parent: QObject | None = None) -> None:
        super().__init__(settings, parent)
        self.plan: ProofPlan | None = None  # of the one under way, or of the last one
        self.reached: Reached | None = None

    def start(self, plan: ProofPlan) -> None:
        """Train the arms that are missing, and compare them."""
        if not self.is_busy:
            self.plan, self.reached = plan, None
            self._begin(plan.run, ["prove", str(plan.run.path), plan.name, "--yes"])

    def is_proving(self, run: RunFolder, name: str) -> bool:
        """Whether the one under way is of the finding ``name`` of ``run``."""
        return self.is_busy and self.run == run and self.plan is not None and self.plan.name == name

    def _read(self, run: RunFolder) -> None:
        if self.plan is not None:
            self.reached = read_progress(run, self.plan.key)
