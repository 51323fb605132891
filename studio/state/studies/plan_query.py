"""What a study would take, measured by the engine's interpreter: ``python -m training study KIND CONFIG --plan``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from PySide6.QtCore import QObject, Signal

from studio.engine.side_command import Answer, SideCommand
from studio.services.settings import SettingsStore
from training.config import RunConfig, save_config
from training.studies.folder import StudyFolder
from training.studies.records import Kind

_MEASURING = "Measuring some steps"
"""How the line begins that is no part of what went wrong."""


class PlanQuery(QObject):
    """One at a time; a canceled one leaves nothing behind.

    Signals:
        changed(): it began or ended.
        planned(StudyFolder): this study is planned, and waits to be begun or removed.
        refused(str): nothing was planned, for this reason.
        unwanted(StudyFolder): this one was planned just when it was canceled.
    """

    changed = Signal()
    planned, refused, unwanted = Signal(object), Signal(str), Signal(object)

    def __init__(self, workspace: Path, settings: SettingsStore, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace, self._settings = workspace, settings
        self._command: SideCommand | None = None
        self._is_canceled = False
        self._place: TemporaryDirectory[str] | None = None

    @property
    def is_busy(self) -> bool:
        """Whether one is under way."""
        return self._command is not None

    def start(self, kind: Kind, config: RunConfig, options: Sequence[str]) -> None:
        """Measure, and plan it; ``options`` are words of the command line."""
        if self.is_busy:
            return
        self._is_canceled = False
        self._place = TemporaryDirectory(prefix="study-")
        file = Path(self._place.name) / "configuration.toml"
        save_config(config, file)
        words = ["study", kind, str(file), *options, "--workspace", str(self._workspace), "--plan", "--json"]
        python = self._settings.get().engine_python
        self._command = SideCommand(self, python, [*words, "--while-held"], self._on_end, hold=True)
        self.changed.emit()

    def cancel(self) -> None:
        """Nobody wants it any more."""
        if self._command is not None and not self._is_canceled:
            self._is_canceled = True
            self._command.stop()
            self.changed.emit()

    def kill(self) -> None:
        """Nobody waits for it any longer."""
        if self._command is not None:
            self._is_canceled = True
            self._command.kill()

    def _on_end(self, answer: Answer) -> None:
        self._command = None
        if self._place is not None:
            self._place.cleanup()
        study = _read_study(answer)
        if study is not None:
            (self.unwanted if self._is_canceled else self.planned).emit(study)
        elif not self._is_canceled:
            lines = [line for line in answer.error.splitlines() if not line.startswith(_MEASURING)]
            self.refused.emit("\n".join(lines) or f"The process ended with code {answer.code}.")
        self.changed.emit()


def _read_study(answer: Answer) -> StudyFolder | None:
    lines = answer.out.splitlines()
    if answer.code != 0 or not lines:
        return None
    return StudyFolder(Path(json.loads(lines[-1])["folder"]))
