"""Where a checkpoint looked in the samples of an evaluation, asked of the engine."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from studio.engine.client import Ticket
from studio.engine.host import EngineHost
from training.predictions import Evaluation, EvaluationRecord
from training.predictions.record import NAMES
from training.protocol.messages import Refusal
from training.protocol.model_answers import ImageAttention
from training.protocol.model_questions import ExplainImage


def tells_where(record: EvaluationRecord) -> bool:
    """Whether a network of such answers may tell where in an image it looked."""
    return (
        record.layout == "image"
        and record.target in ("class", "labels", "values", "mask", "tasks")
        and "embedding" not in record.columns
    )


class Looking(QObject):
    """Asks the engine where ``checkpoint`` looked in samples of ``evaluation``; only the newest question is answered.

    Signals: `changed()` there is an ``attention``, or a ``problem`` in its place; neither while it is computed.
    """

    changed = Signal()

    def __init__(
        self, engine: EngineHost, evaluation: Evaluation, checkpoint: Path | None, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self.evaluation = evaluation
        self.attention: ImageAttention | None = None
        self.problem = ""
        self._engine = engine
        self._checkpoint = checkpoint
        self._ticket: Ticket | None = None

    def ask(self, row: int, output: int | None) -> None:
        """About the sample in ``row`` of the evaluation and the class, label or value ``output``; None: what the model answers."""
        self.forget()
        if self._checkpoint is None:
            self._take(
                None, "The checkpoint of this step is not there any more, so it cannot be asked where it looked."
            )
            return
        record, number = self.evaluation.record, int(self.evaluation.column("index")[row])
        name = str(self.evaluation.names[row]) if NAMES in record.files else ""
        request = ExplainImage(model=self._checkpoint, on=record.on, number=number, name=name, output=output)

        def refuse(refusal: Refusal) -> None:
            self._take(None, str(refusal))

        self._ticket = self._engine.ask(request, ImageAttention, lambda found: self._take(found, ""), refuse)

    def forget(self) -> None:
        """Nobody waits for an answer any more."""
        if self._ticket is not None:
            self._ticket.cancel()
        self._ticket, self.attention, self.problem = None, None, ""

    def _take(self, attention: ImageAttention | None, problem: str) -> None:
        self.attention, self.problem = attention, problem
        self.changed.emit()
