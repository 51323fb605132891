"""What happens to a run when the window is to close: asked, then carried out without freezing the window."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from PySide6.QtWidgets import QWidget

from studio.actions.question import Answer, ask
from studio.engine.background_run import BackgroundRun
from studio.engine.messages import EngineDeath
from studio.engine.state import ENABLED, RunAction, RunState
from studio.services.logs import log_folder
from studio.state.context import AppContext
from training.control import Command
from training.runs.folder import RunFolder
from training.runs.records.forms import StatusRecord

_DETACH_DEADLINE = 5000  # milliseconds for the engine to agree to go on alone


class CloseChoice(StrEnum):
    """What the person wants for the run."""

    BACKGROUND = "background"
    STOP = "stop"
    CANCEL = "cancel"


def ask_about_run(parent: QWidget, name: str, *, is_paused: bool = False) -> CloseChoice:
    """A dialog with the choices."""
    verb, state = ("Continue", "paused") if is_paused else ("Keep training", "being trained")
    answers = [
        Answer(CloseChoice.BACKGROUND, f"{verb} in the background", "primary"),
        Answer(CloseChoice.STOP, "Stop && save checkpoint"),
    ]
    text = (
        f"In the background it {'trains on' if is_paused else 'goes on'} without a window, and the next start shows it again. “Stop & save checkpoint” ends the "
        "run; it can be resumed later."
    )
    return CloseChoice(ask(parent, f"“{name}” is {state}", text, answers) or CloseChoice.CANCEL)


def ask_about_job(parent: QWidget, what: str) -> bool:
    """Whether the window is to close although ``what``, a study or a sweep, is at work."""
    text = "It will be stopped; what it has done is kept. Go on with it after the next start, on the Studies page."
    answers = [Answer("stop", f"Stop the {what} and close", "primary")]
    return ask(parent, f"A {what} is at work", text, answers) == "stop"


class Closing(QObject):
    """Ends what must end before the window may go, step by step.

    Signals:
        ready(): the window can close now.
        begun_changed(bool): the end has begun, or (False) it was called off.
        failed(EngineDeath): the run could not be handed over; it is stopped and kept, and the window stays.
    """

    ready = Signal()
    begun_changed = Signal(bool)
    failed = Signal(object)

    def __init__(self, context: AppContext, parent: QObject) -> None:
        super().__init__(parent)
        self._context = context
        self.begun = False
        self.done = False
        self._handing_over = False
        self._is_due = False  # all has ended but a study or a sweep
        context.engine.shut_down.connect(self._on_engines_gone)
        context.engine.run_finished.connect(self._on_run_finished)
        context.live.state_changed.connect(self._on_run_state)
        context.studies.busy_changed.connect(self._on_job_ended)
        context.sweeps.job.changed.connect(self._on_job_ended)

    @property
    def must_ask(self) -> bool:
        """Whether a run of this window's own engine is going on (one in the background already needs no question)."""
        return self._context.engine.training

    def name_job(self) -> str:
        """What works beside the engine and ends with the window, a study or a sweep; "" for nothing."""
        return "study" if self._context.studies.job.is_busy else "sweep" if self._context.sweeps.is_busy else ""

    @Slot()
    def stop_and_close(self) -> None:
        """Stop the run, keep it, then end the engines."""
        if self.begun:
            return
        self._begin()
        if self._context.engine.training and self._context.live.state is not RunState.STARTING:
            self._context.live.ask(Command.STOP)
            self._on_run_state()
        else:
            self._shut_down()

    @Slot()
    def leave_in_background(self) -> None:
        """Hand the run over, then end the other engines."""
        if self.begun:
            return
        self._begin()
        if self._context.engine.in_process:
            # A thread cannot be left behind: the run is kept at its very step, and another process goes on from there.
            self._handing_over = True
            self._on_run_state()
            return
        if self._context.live.state in (RunState.PAUSED, RunState.PAUSING):
            self._context.live.ask(Command.CONTINUE)  # nobody would be there to do so
        self._context.engine.detach(self._shut_down)
        QTimer.singleShot(_DETACH_DEADLINE, self, self._shut_down)

    @Slot()
    def end_now(self) -> None:
        """The person will not wait any longer."""
        self._context.engine.kill()
        self._context.studies.kill()
        self._context.sweeps.job.kill()

    @Slot()
    def _on_run_state(self) -> None:
        if self._handing_over and self._context.live.state in ENABLED[RunAction.STOP]:
            self._context.live.ask(Command.STOP)  # one that is only starting yet has no folder: asked when it has
        elif self.begun and not self.done and not self._handing_over and not self._context.live.live:
            self._shut_down()

    def _begin(self) -> None:
        self.begun = True
        self.begun_changed.emit(True)
        self._context.studies.end()
        self._context.sweeps.job.end()

    def _is_job_at_work(self) -> bool:
        return self._context.studies.is_busy or self._context.sweeps.is_busy

    @Slot(object)
    def _on_run_finished(self, record: StatusRecord) -> None:
        if not self._handing_over:
            return
        if record.status != "stopped":  # it came to its end meanwhile
            self._shut_down()
            return
        python = self._context.settings.get().engine_python
        background = BackgroundRun(python, RunFolder(Path(record.folder)), log_folder(), self)
        background.taken_over.connect(self._shut_down)
        background.failed.connect(self._on_not_taken_over)
        background.start()

    @Slot(object)
    def _on_not_taken_over(self, death: EngineDeath) -> None:
        self.begun = self._handing_over = self._is_due = False
        self.begun_changed.emit(False)
        self.failed.emit(death)

    @Slot()
    def _shut_down(self) -> None:
        """End the engines, once a study and a sweep have stopped."""
        self._is_due = self._is_job_at_work()
        if not self.done and not self._is_due:
            self._context.engine.shutdown()

    @Slot()
    def _on_job_ended(self) -> None:
        if self._is_due:
            self._shut_down()

    @Slot()
    def _on_engines_gone(self) -> None:
        if not self.done:
            self.done = True
            self._context.background.close()
            self.ready.emit()
