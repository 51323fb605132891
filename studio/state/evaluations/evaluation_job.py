"""An evaluation that the engine is computing."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from studio.engine.client import Ticket
from studio.engine.host import EngineHost
from training.protocol.answers import EvaluationResult
from training.protocol.messages import EvaluateRequest, Refusal


class EvaluationJob(QObject):
    """One at a time. What was computed before it was stopped is on the disk, and the next one goes on from there.

    Signals:
        changed(): it began, came further, or ended; ``problem`` says why it came to nothing.
        finished(): there is another evaluation.
    """

    changed = Signal()
    finished = Signal()

    def __init__(self, engine: EngineHost, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.checkpoint: Path | None = None  # of the one under way, or of the last one
        self.on = ""
        self.words = ""
        self.fraction: float | None = None
        self.problem = ""
        self._engine = engine
        self._ticket: Ticket | None = None

    @property
    def is_busy(self) -> bool:
        """Whether one is under way."""
        return self._ticket is not None

    def start(self, checkpoint: Path, on: str, *, again: bool = False, importance: bool = False) -> None:
        """Evaluate ``checkpoint`` on a part of its run's data, or on the data in a path; ``again`` though it was done before.
        ``importance``: measure which columns matter, too."""
        if self.is_busy:
            return
        self.checkpoint, self.on = checkpoint, on
        self.words, self.fraction, self.problem = "", None, ""
        request = EvaluateRequest(checkpoint=checkpoint, on=on, again=again, importance=importance)
        ticket = self._engine.ask(request, EvaluationResult, self._on_result, self._on_refused, self._on_progress)
        if not self.problem:  # an engine that cannot be asked says so at once
            self._ticket = ticket
        self.changed.emit()

    def cancel(self) -> None:
        """Stop the one under way; what it has is kept for the next time."""
        if self._ticket is not None:
            self._engine.interrupt(self._ticket)
            self._ticket, self.checkpoint = None, None
            self.changed.emit()

    def _on_result(self, _result: EvaluationResult) -> None:
        self._ticket = None
        self.finished.emit()
        self.changed.emit()

    def _on_refused(self, refusal: Refusal) -> None:
        self._ticket, self.problem = None, str(refusal)
        self.changed.emit()

    def _on_progress(self, words: str, fraction: float | None) -> None:
        self.words, self.fraction = words, fraction
        self.changed.emit()
