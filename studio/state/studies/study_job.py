"""A study at work, in a process of its own: ``python -m training study --resume ID``."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject

from studio.services.settings import SettingsStore
from studio.state.side_job import FolderJob
from training.studies.folder import StudyFolder


class StudyJob(FolderJob):
    """``finished``: the study has a result."""

    setting = "study_at_work"

    def __init__(self, workspace: Path, settings: SettingsStore, parent: QObject | None = None) -> None:
        super().__init__(settings, parent)
        self._workspace = workspace

    def begin(self, study: StudyFolder) -> None:
        """Begin it, or go on with it."""
        self._begin(study.path, ["study", "--resume", str(study.path), "--workspace", str(self._workspace)])
