"""The studies of the window: the list of them, the one at work, and the one that is being planned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from studio.services.background import Background
from studio.services.settings import SettingsStore
from studio.state.studies.plan_query import PlanQuery
from studio.state.studies.study_job import StudyJob
from studio.state.studies.study_list import StudyList
from training.studies.folder import StudyFolder

AT_WORK = "A study is at work, whose timings a run beside it would make false. Wait for its end, or stop it on Studies."
_RIVAL = "{} is at work, and would make the study's timings false. Wait for its end, or stop it."
_OTHER = "Another study is at work. Wait for its end, or stop it."


class Studies(QObject):
    """``find_rival`` names what works in sight of this window beside a study; "" for nothing.

    Signals:
        new_asked(str): a person wants a study of that kind; "" for one of any kind.
        busy_changed(): one began to work or to be planned, or ended.
    """

    new_asked, busy_changed = Signal(str), Signal()

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
        self.list = StudyList(workspace, background, self)
        self.job = StudyJob(workspace, settings, self)
        self.query = PlanQuery(workspace, settings, self)
        self._was_busy = False
        self.job.changed.connect(self._follow)
        self.query.changed.connect(self._follow)
        self.query.unwanted.connect(self.discard)

    @property
    def is_busy(self) -> bool:
        """Whether one works or is measured."""
        return self.job.is_busy or self.query.is_busy

    def find_obstacle(self) -> str:
        """Why none can begin now, in a sentence; "" where one can."""
        if self.is_busy:
            return _OTHER
        rival = self._find_rival()
        return _RIVAL.format(rival) if rival else ""

    def begin(self, study: StudyFolder) -> str:
        """Begin it, or go on with it; returns why that is not possible now."""
        if problem := self.find_obstacle():
            return problem
        self.job.begin(study)
        return ""

    @Slot(object)
    def discard(self, study: StudyFolder) -> None:
        """Remove what was planned and not agreed to."""
        self.list.remove(study, lambda _error: None)  # it is listed as planned then, and can be deleted there

    def end(self) -> None:
        """The window closes: what is under way is stopped and kept, and the next start offers to go on."""
        self.query.cancel()
        self.job.end()

    def kill(self) -> None:
        """The person will not wait any longer."""
        self.query.kill()
        self.job.kill()

    @Slot()
    def _follow(self) -> None:
        if self._was_busy != self.is_busy:
            self._was_busy = self.is_busy
            self.list.refresh()
            self.busy_changed.emit()
