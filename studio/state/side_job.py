"""Long work in a process of its own, ``python -m training WORDS``: one at a time, looked at while it works."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from studio.engine.side_command import Answer, SideCommand
from studio.services.settings import SettingsStore
from training.runs.folder import RunFolder

_LOOK = 1000  # milliseconds
_STOPPED = 130


class SideJob(QObject):
    """What was done before it was stopped, or the window closed or killed, is kept, and the next one goes on from there.

    Signals:
        changed(): it began, came further, or ended; ``problem`` says why it came to nothing.
        finished(): there is another result.
    """

    changed, finished = Signal(), Signal()

    def __init__(self, settings: SettingsStore, parent: QObject | None = None) -> None:
        super().__init__(parent)
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

    @property
    def pid(self) -> int:
        """Of the process under way; 0 where there is none."""
        return self._command.pid if self._command is not None else 0

    def stop(self) -> None:
        """Ask it for an end; what is done is kept."""
        if self._command is not None and not self.is_stopping:
            self.is_stopping = True
            self._command.stop()
            self.changed.emit()

    def kill(self) -> None:
        """End it at once; what it has kept stays kept."""
        if self._command is not None:
            self.is_stopping = True
            self._command.kill()

    def _launch(self, words: Sequence[str]) -> None:
        self.problem, self.is_stopping = "", False
        python = self._settings.get().engine_python
        self._command = SideCommand(self, python, [*words, "--while-held"], self._on_end, hold=True)
        self._timer.start()
        self.changed.emit()

    def _read_progress(self) -> None:
        """Note how far it is."""
        raise NotImplementedError

    def _take(self, answer: Answer) -> bool:
        """Whether the process came to its end, and with a result."""
        return answer.code == 0

    @Slot()
    def _look(self) -> None:
        self._read_progress()
        self.changed.emit()

    def _on_end(self, answer: Answer) -> None:
        self._timer.stop()
        self._command = None
        stopped, self.is_stopping = self.is_stopping, False
        done = self._take(answer)
        if not (done or stopped or answer.code == _STOPPED):
            self.problem = _explain(answer)
        if done:
            self.finished.emit()
        self.changed.emit()


def _explain(answer: Answer) -> str:
    lines = answer.error.splitlines()
    if answer.was_killed:  # its last line is what it was at, and no reason
        said = f" The last that it said: {lines[-1]}" if lines else ""
        return f"Its process was killed, or it crashed.{said}"
    return lines[-1] if lines else f"The process ended with code {answer.code}."


class RunJob(SideJob):
    """Such work on a run. ``finished``: there is another result of ``run``."""

    def __init__(self, settings: SettingsStore, parent: QObject | None = None) -> None:
        super().__init__(settings, parent)
        self.run: RunFolder | None = None  # of the one under way, or of the last one

    def _begin(self, run: RunFolder, words: Sequence[str]) -> None:
        self.run = run
        self._launch(words)

    def _read(self, run: RunFolder) -> None:
        """Note how far it is."""
        raise NotImplementedError

    def _read_progress(self) -> None:
        if self.run is not None:
            self._read(self.run)


class FolderJob(SideJob):
    """Such work on a study or a sweep. The preference named ``setting`` remembers which one, until it has ended otherwise than by the end of
    the window: the next start offers to go on."""

    setting: ClassVar[Literal["study_at_work", "sweep_at_work"]]

    def __init__(self, settings: SettingsStore, parent: QObject | None = None) -> None:
        super().__init__(settings, parent)
        self.left: str = getattr(settings.get(), self.setting)  # at work when the window before this one ended
        self.folder: Path | None = None  # of the one under way, or the last one
        self._is_ending = False

    def is_at(self, folder: Path) -> bool:
        """Whether it works on the one in ``folder``."""
        return self.is_busy and self.folder == folder

    def end(self) -> None:
        """The window closes."""
        self._is_ending = True
        self.stop()

    def forget(self) -> None:
        """Offer nothing at the next start."""
        self._settings.update(**{self.setting: ""})

    def _begin(self, folder: Path, words: Sequence[str]) -> None:
        if not self.is_busy:
            self.folder, self._is_ending = folder, False  # a window that did not close after all
            self._settings.update(**{self.setting: folder.name})
            self._launch(words)

    def _read_progress(self) -> None:
        """Who shows it reads that in the background, with all others."""

    def _on_end(self, answer: Answer) -> None:
        if not self._is_ending:
            self.forget()
        super()._on_end(answer)
