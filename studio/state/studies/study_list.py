"""The studies of the workspace, read in the background."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from studio.services.background import Background, Refresher
from studio.state.studies.summary import StudySummary, read_summaries
from training.studies.folder import StudyFolder, remove_study


class StudyList(QObject):
    """Newest first.

    Signals:
        changed(): another list was read, or it could not be: ``problem`` says why.
    """

    changed = Signal()

    def __init__(self, workspace: Path, background: Background, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.studies: tuple[StudySummary, ...] = ()
        self.loaded = False
        self.problem = ""
        self._background = background
        self._workspace = workspace
        self._refresher = Refresher(background, self._prepare, self._on_read, self._on_failed)

    def refresh(self) -> None:
        """Look again."""
        self._refresher.ask()

    def find(self, study: str) -> StudySummary | None:
        """The one of that id."""
        return next((each for each in self.studies if each.id == study), None)

    def remove(self, study: StudyFolder, handle_failure: Callable[[Exception], object]) -> None:
        """Delete its folder for good; its runs stay."""

        def settle(_done: object) -> None:
            self.refresh()

        def fail(error: Exception) -> None:
            self.refresh()
            handle_failure(error)

        self._background.submit(lambda: remove_study(study), settle, fail)

    def _prepare(self) -> Callable[[], tuple[StudySummary, ...]]:
        known = {each.folder: each for each in self.studies if each.state == "done"}
        return lambda: read_summaries(self._workspace, known)

    def _on_read(self, found: tuple[StudySummary, ...]) -> None:
        changed = (found, "", True) != (self.studies, self.problem, self.loaded)
        self.studies, self.problem, self.loaded = found, "", True
        if changed:
            self.changed.emit()

    def _on_failed(self, error: Exception) -> None:
        self.problem = str(error)
        self.changed.emit()
