"""*Stop & discard progress*, which can be taken back for a moment: meanwhile the run is paused, and nothing of it is lost."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Slot

from studio.engine.state import ENDED, RunState
from studio.services.notifier import Notifier
from studio.state.runs.live_run import LiveRun
from training.control import Command

SECONDS = 10.0
_SUBJECT = "discard"
_NOTHING_YET = frozenset({RunState.STARTING, RunState.PREPARING})


def discard_progress(notifier: Notifier, run: LiveRun) -> None:
    """End the run without a checkpoint, some seconds after it was paused for that, unless the person takes it back; asked for
    again meanwhile, at once."""
    waiting = run.findChild(_Discarding)
    if waiting is not None and waiting.is_waiting():
        waiting.discard()
    elif run.state in _NOTHING_YET:
        run.ask(Command.STOP_NOW)
    elif run.state not in ENDED:
        _Discarding(notifier, run)


class _Discarding(QObject):
    """Whatever else is asked of the run meanwhile, or happens to it, takes it back."""

    def __init__(self, notifier: Notifier, run: LiveRun) -> None:
        super().__init__(run)
        self._notifier, self._run, self._folder = notifier, run, run.folder
        self._was_paused = run.state in (RunState.PAUSED, RunState.PAUSING)
        if not self._was_paused:
            run.ask(Command.PAUSE)
        run.asked.connect(self._withdraw)
        run.attached.connect(self._withdraw)
        run.state_changed.connect(self._on_state_changed)
        self._timer = QTimer(self, singleShot=True, interval=round(SECONDS * 1000))
        self._timer.timeout.connect(self.discard)
        self._timer.start()
        notifier.notify(
            f"In {SECONDS:g} seconds it stops, and the steps since its last checkpoint are gone. Choose it again to stop at once.",
            "warning",
            title="The run is paused",
            action_text="Undo",
            action=self._take_back,
            subject=_SUBJECT,
            lasting=True,
        )

    def is_waiting(self) -> bool:
        """Whether it was neither done nor taken back."""
        return self._timer.isActive()

    @Slot()
    def discard(self) -> None:
        """Stop the run now."""
        self._withdraw()
        if self._run.folder == self._folder and self._run.state not in ENDED:
            self._run.ask(Command.STOP_NOW)

    def _take_back(self) -> None:
        if self.is_waiting():
            self._withdraw()
            if not self._was_paused:
                self._run.ask(Command.CONTINUE)

    @Slot(object)
    def _on_state_changed(self, state: RunState) -> None:
        if state in ENDED:
            self._withdraw()

    @Slot()
    def _withdraw(self) -> None:
        self._timer.stop()
        for signal, slot in (
            (self._run.asked, self._withdraw),
            (self._run.attached, self._withdraw),
            (self._run.state_changed, self._on_state_changed),
        ):
            signal.disconnect(slot)
        self._notifier.withdrawn.emit(_SUBJECT)
        self.deleteLater()
