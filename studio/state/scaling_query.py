"""How much faster the run that is being prepared is in several processes than in one: timed on request, by the command line."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from PySide6.QtCore import QObject, Signal

from studio.engine.side_command import Answer, SideCommand
from studio.services.settings import SettingsStore
from studio.state.config_file import save_for_command
from studio.state.drafts.draft import Draft
from studio.state.where_it_runs import WhereItRuns
from training.config import RunConfig


class ScalingQuery(QObject):
    """What was measured holds until the settings or the number of processes are others. Signals: `changed()`: it began or ended, or what
    was found holds no more."""

    changed = Signal()

    def __init__(self, settings: SettingsStore, draft: Draft, where: WhereItRuns, parent: QObject) -> None:
        super().__init__(parent)
        self._settings, self._draft, self._where = settings, draft, where
        self._command: SideCommand | None = None
        self._place: TemporaryDirectory[str] | None = None
        self._measured: tuple[RunConfig | None, int] = (None, 0)
        self._next: RunConfig | None = None  # to be timed once what is timed has ended
        self.words, self.problem, self.is_poor = "", "", False
        draft.changed.connect(self._withdraw)
        where.changed.connect(self._withdraw)

    @property
    def is_busy(self) -> bool:
        """Whether it is being measured."""
        return self._command is not None

    def start(self, config: RunConfig) -> None:
        """Time some steps of ``config`` in one process, and in those that are chosen."""
        if self._command is not None:
            if self._measured != (config, self._where.count):
                self._next = config
                self._command.stop()
            return
        self._measured = config, self._where.count
        self.words, self.problem, self.is_poor = "", "", False
        self._place = TemporaryDirectory(prefix="scaling-", ignore_cleanup_errors=True)
        file = save_for_command(config, Path(self._place.name))
        words = ["scaling", str(file), "--ranks", str(self._where.count), "--json", "--while-held"]
        words += ["--workspace", self._place.name]  # whatever is left there goes with it
        self._command = SideCommand(self, self._settings.get().engine_python, words, self._on_end, hold=True)
        self.changed.emit()

    def cancel(self) -> None:
        """Nobody wants it any more."""
        self._next = None
        if self._command is not None:
            self._measured = (None, 0)
            self._command.stop()

    def _on_end(self, answer: Answer) -> None:
        self._command = None
        if self._place is not None:
            self._place.cleanup()
        if self._is_current():
            self._take(answer)
        following, self._next = self._next, None
        if following is not None:
            self.start(following)
        else:
            self.changed.emit()

    def _take(self, answer: Answer) -> None:
        try:
            found = json.loads(answer.out.strip().splitlines()[-1])
            self.words, self.is_poor = str(found["text"]), bool(found["poor"])
        except (ValueError, IndexError, KeyError, TypeError):
            lines = answer.error.splitlines()
            self.problem = lines[-1] if lines else "The timing ended without a word."

    def _is_current(self) -> bool:
        return self._measured == (self._draft.config(), self._where.count)

    def _withdraw(self) -> None:
        if (self.words or self.problem) and not self._is_current():
            self.words, self.problem, self.is_poor = "", "", False
            self.changed.emit()
