"""Runs that judge the labels of a training part, in a process of their own: ``python -m training labels RUN --on train``."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from studio.engine.side_command import Answer, SideCommand
from studio.services.settings import SettingsStore
from training.labels.progress import Reached, read_progress
from training.runs.folder import RunFolder

_LOOK = 1000  # milliseconds
_STOPPED = 130


class LabelsJob(QObject):
    """One at a time. What was trained before it was stopped, or the window closed or killed, is kept, and the next one goes on from
    there.

    Signals:
        changed(): it began, came further, or ended; ``problem`` says why it came to nothing.
        finished(): there is another ranking of ``run``.
    """

    changed = Signal()
    finished = Signal()

    def __init__(self, settings: SettingsStore, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.run: RunFolder | None = None  # of the one under way, or of the last one
        self.reached: Reached | None = None
        self.problem = ""
        self.is_stopping = False
        self._settings = settings
        self._command: SideCommand | None = None
        self._timer = QTimer(self, interval=_LOOK)
        self._timer.timeout.connect(self._look)

    @property
    def is_busy(self) -> bool:
        """Whether one is under way."""
        return self._command is not None

    def start(self, run: RunFolder, folds: int) -> None:
        """Train what is missing, and rank the labels."""
        if self.is_busy:
            return
        self.run, self.problem, self.reached, self.is_stopping = run, "", None, False
        words = ["labels", str(run.path), "--on", "train", "--folds", str(folds), "--while-held"]
        self._command = SideCommand(self, self._settings.get().engine_python, words, self._on_end, hold=True)
        self._timer.start()
        self.changed.emit()

    def stop(self) -> None:
        """Ask it for an end; what is trained is kept."""
        if self._command is not None and not self.is_stopping:
            self.is_stopping = True
            self._command.stop()
            self.changed.emit()

    @Slot()
    def _look(self) -> None:
        if self.run is not None:
            self.reached = read_progress(self.run)
            self.changed.emit()

    def _on_end(self, answer: Answer) -> None:
        self._timer.stop()
        self._command = None
        stopped, self.is_stopping = self.is_stopping, False
        if answer.code and not (stopped or answer.code == _STOPPED):
            lines = answer.error.splitlines()
            self.problem = lines[-1] if lines else f"The process ended with code {answer.code}."
        if answer.code == 0:
            self.finished.emit()
        self.changed.emit()
