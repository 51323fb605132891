"""A study at work, in a process of its own: ``python -m training study --resume ID``."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject

from studio.services.settings import SettingsStore
from studio.state.side_job import SideJob
from training.studies.folder import StudyFolder


class StudyJob(SideJob):
    """``finished``: ``study`` has a result."""

    def __init__(self, workspace: Path, settings: SettingsStore, parent: QObject | None = None) -> None:
        super().__init__(settings, parent)
        self.study: StudyFolder | None = None  # the one under way, or the last one
        self._workspace = workspace

    def begin(self, study: StudyFolder) -> None:
        """Begin it, or go on with it."""
        if not self.is_busy:
            self.study = study
            self._launch(["study", "--resume", str(study.path), "--workspace", str(self._workspace)])

    def is_at(self, study: StudyFolder) -> bool:
        """Whether it works on this one."""
        return self.is_busy and self.study == study

    def _read_progress(self) -> None:
        """Who shows it reads that in the background, with all other studies."""
