"""What happens to a run when the window is to close: asked, then carried out without freezing the window."""

from __future__ import annotations

from enum import StrEnum

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from PySide6.QtWidgets import QWidget

from studio.actions.question import Answer, ask
from studio.engine.state import RunState
from studio.state.context import AppContext
from training.control import Command

_DETACH_DEADLINE = 5000  # milliseconds for the engine to agree to go on alone


class CloseChoice(StrEnum):
    """What the person wants for the run."""

    BACKGROUND = "background"
    STOP = "stop"
    CANCEL = "cancel"


def ask_about_run(parent: QWidget, name: str, can_detach: bool) -> CloseChoice:
    """A dialog with the choices; ``can_detach`` offers the background."""
    answers = [Answer(CloseChoice.STOP, "Stop and keep")]
    text = "“Stop and keep” saves a checkpoint; the run can be resumed later."
    if can_detach:
        answers.insert(0, Answer(CloseChoice.BACKGROUND, "Keep training in the background", "primary"))
        text = f"In the background it goes on without a window, and the next start shows it again. {text}"
    return CloseChoice(ask(parent, f"“{name}” is being trained", text, answers) or CloseChoice.CANCEL)


class Closing(QObject):
    """Ends what must end before the window may go, step by step.

    Signals:
        ready(): the window can close now.
    """

    ready = Signal()

    def __init__(self, context: AppContext, parent: QObject) -> None:
        super().__init__(parent)
        self._context = context
        self.begun = False
        self.done = False
        context.engine.shut_down.connect(self._on_engines_gone)
        context.live.state_changed.connect(self._on_run_state)

    @property
    def must_ask(self) -> bool:
        """Whether a run of this window's own engine is going on (one in the background already needs no question)."""
        return self._context.engine.training

    @Slot()
    def stop_and_close(self) -> None:
        """Stop the run, keep it, then end the engines."""
        if self.begun:
            return
        self.begun = True
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
        self.begun = True
        self._context.engine.detach(self._shut_down)
        QTimer.singleShot(_DETACH_DEADLINE, self, self._shut_down)

    @Slot()
    def end_now(self) -> None:
        """The person will not wait any longer."""
        self._context.engine.kill()

    @Slot()
    def _on_run_state(self) -> None:
        if self.begun and not self.done and not self._context.live.live:
            self._shut_down()

    @Slot()
    def _shut_down(self) -> None:
        if not self.done:
            self._context.engine.shutdown()

    @Slot()
    def _on_engines_gone(self) -> None:
        if not self.done:
            self.done = True
            self._context.background.close()
            self.ready.emit()
