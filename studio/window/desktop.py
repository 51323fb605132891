"""What the desktop is told while the window is not looked at: how far a run is, and that something ended."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from studio.engine.state import ENDED, LIVE, RunState
from studio.panels.run_words import ENDS, describe_end
from studio.services.desktop_notices import DesktopNotices
from studio.services.taskbar import show_progress
from studio.state.context import QUEUE, STUDIES, SWEEPS, AppContext
from studio.state.runs.live_run import percent_of
from studio.state.side_job import SideJob
from studio.window.door import bring_to_front
from training.errors import TrainingError, pluralize
from training.queue.entries import OVER


class Desktop(QObject):
    """Follows the run at work, the study, the sweep and the queue."""

    def __init__(self, context: AppContext, window: QWidget) -> None:
        super().__init__(window)
        self._context, self._window = context, window
        self._state = context.live.state
        self._percent: int | None = None
        self._queued: set[str] = set()  # the entries that were to be worked off
        self._go: Callable[[], object] = context.show_work  # where a click on the newest notice leads
        self.notices = DesktopNotices(self)
        self.notices.clicked.connect(self._on_clicked)
        context.live.state_changed.connect(self._on_run_state)
        context.live.progress_changed.connect(self._show_progress)
        for job, what, page in (
            (context.studies.job, "study", STUDIES),
            (context.sweeps.job, "sweep", SWEEPS),
        ):
            self._follow(job, what, page)
        context.queue.changed.connect(self._on_queue)

    def close(self) -> None:
        """The window ends."""
        self.notices.close()
        if self._percent is not None:
            show_progress(None)

    # ------------------------------------------------------------------------------------------ progress

    @Slot()
    def _show_progress(self) -> None:
        percent = percent_of(self._context.live)
        if percent != self._percent:
            self._percent = percent
            show_progress(None if percent is None else percent / 100)

    # ------------------------------------------------------------------------------------------- notices

    @Slot(object)
    def _on_run_state(self, state: RunState) -> None:
        before, self._state = self._state, state
        self._show_progress()
        if state in ENDED and before in LIVE:
            self._tell_of_run(state)

    def _tell_of_run(self, state: RunState) -> None:
        live = self._context.live
        name = f"“{live.name}”"
        if state is RunState.INTERRUPTED:
            words = f"{live.death or 'The training process exited unexpectedly.'}"
            self._tell(f"{name} was interrupted", words, self._context.show_work, urgent=True)
        elif live.folder is not None:
            try:
                text = describe_end(live.folder.status())
            except TrainingError as error:  # it was deleted, or is damaged
                text = str(error)
            title = f"{name} {ENDS[state.value][0]}"
            self._tell(title, text, self._context.show_work, urgent=state is RunState.FAILED)

    def _follow(self, job: SideJob, what: str, page: str) -> None:
        def show() -> None:
            self._context.show_page(page)

        def tell() -> None:
            if job.problem and not job.is_busy:
                self._tell(f"The {what} failed", job.problem, show, urgent=True)

        job.finished.connect(lambda: self._tell(f"The {what} has a result", "", show))
        job.changed.connect(tell)

    @Slot()
    def _on_queue(self) -> None:
        """Told once, when the last entry has had its turn."""
        shown = self._context.queue.overview.shown
        waiting = {each.entry.id for each in shown if each.state not in OVER}
        if self._queued and not waiting:
            done = [each for each in shown if each.entry.id in self._queued]
            failed = sum(each.state == "failed" for each in done)
            text = f"{pluralize(len(done), 'run')}{f', {failed:,} failed' if failed else ''}."
            if done:  # or all were taken out
                self._tell("The queue is done", text, lambda: self._context.show_page(QUEUE), urgent=bool(failed))
            self._queued = set()
        self._queued |= waiting

    def _tell(self, title: str, text: str, go: Callable[[], object], urgent: bool = False) -> None:
        looked_at = QGuiApplication.applicationState() is Qt.ApplicationState.ApplicationActive
        if self._context.settings.get().notify and not looked_at:
            self._go = go
            self.notices.show(title, text, urgent)

    @Slot()
    def _on_clicked(self) -> None:
        bring_to_front(self._window, "")
        self._go()
