"""Runs that judge the labels of a training part, in a process of their own: ``python -m training labels RUN --on train``."""

from __future__ import annotations

from PySide6.QtCore import QObject

from studio.services.settings import SettingsStore
from studio.state.side_job import RunJob
from training.labels.progress import Reached, read_progress
from training.runs.folder import RunFolder


class LabelsJob(RunJob):
    """``finished``: there is another ranking of ``run``."""

    def __init__(self, settings: SettingsStore, parent: QObject | None = None) -> None:
        super().__init__(settings, parent)
        self.reached: Reached | None = None

    def start(self, run: RunFolder, folds: int) -> None:
        """Train what is missing, and rank the labels."""
        if not self.is_busy:
            self.reached = None
            self._begin(run, ["labels", str(run.path), "--on", "train", "--folds", str(folds)])

    def _read(self, run: RunFolder) -> None:
        self.reached = read_progress(run)
