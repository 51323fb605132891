"""The intervals of what a run kept of its own validations: they are computed when somebody looks at it."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from studio.engine.client import Ticket
from studio.engine.host import EngineHost
from training.predictions import Evaluation
from training.protocol.answers import EvaluationResult
from training.protocol.messages import AddIntervals


class KeptIntervals(QObject):
    """Asks the engine once for each evaluation that lacks them. ``words`` say how it stands with the one that is looked at.

    Signals:
        changed(): ``words`` did.
        finished(): it was answered; the folder is to be read again.
    """

    changed = Signal()
    finished = Signal()

    def __init__(self, engine: EngineHost, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.words = ""
        self._engine = engine
        self._folder: Path | None = None  # of what is looked at, where it lacks intervals
        self._why = ""  # it goes on lacking them
        self._ticket: Ticket | None = None

    def look_at(self, evaluation: Evaluation | None) -> None:
        """Another evaluation is looked at, or none; what was asked for the last one is not waited for."""
        folder = evaluation.folder if evaluation is not None and evaluation.record.lacks_intervals else None
        if folder != self._folder:
            if self._ticket is not None:
                self._ticket.cancel()
            self._folder, self._why, self._ticket = folder, "", None
            if folder is not None:
                self._ask(folder)
        words = "" if folder is None else self._why or "Their intervals are being computed …"
        if words != self.words:
            self.words = words
            self.changed.emit()

    def _ask(self, folder: Path) -> None:
        ticket = self._engine.ask(
            AddIntervals(evaluation=folder),
            EvaluationResult,
            lambda _result: self._on_ended("They have no intervals."),
            lambda refusal: self._on_ended(f"Their intervals could not be computed. {refusal}"),
        )
        if not self._why:  # an engine that cannot be asked says so at once
            self._ticket = ticket

    def _on_ended(self, why: str) -> None:
        """``why`` is only true of a record that lacks intervals still, which the next look tells."""
        self._ticket, self._why = None, why
        self.finished.emit()
