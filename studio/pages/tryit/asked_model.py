"""The model that is asked, and the questions under way: what is no longer wanted is not answered."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QObject, Signal, Slot

from studio.engine.client import Ticket
from studio.state.context import AppContext
from training.errors import TrainingError
from training.protocol.answers import Answer
from training.protocol.messages import Refusal
from training.protocol.model_answers import ModelDescription
from training.protocol.model_questions import DescribeModel, ModelQuestion
from training.runs.cli_consent import code_to_agree
from training.runs.export_consent import export_code_to_agree
from training.runs.folder import RunFolder

AnswerT = TypeVar("AnswerT", bound=Answer)


class AskedModel(QObject):
    """Follows ``context.model_to_try``. While it is loaded, ``description`` is None and ``refusal`` is ""; ``refusal`` says why it
    cannot be asked.

    Signals:
        changed(): another model, or it was loaded or refused.
    """

    changed = Signal()

    def __init__(self, context: AppContext, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._tickets: dict[str, Ticket] = {}
        self.description: ModelDescription | None = None
        self.refusal = ""
        context.model_to_try.changed.connect(self.load)

    def find_code(self) -> list[Path]:
        """The files of code that a person has to agree to before this model can be asked."""
        path = self._context.model_to_try.path
        if path is None:
            return []
        try:
            if path.parent.name == "checkpoints":
                return code_to_agree(RunFolder(path.parent.parent))
            return export_code_to_agree(path)
        except (TrainingError, OSError):  # the engine says what is wrong with the model
            return []

    @Slot()
    def load(self) -> None:
        """Have the engine load the model, and tell what it takes."""
        path = self._context.model_to_try.path
        for kind in list(self._tickets):
            self.forget(kind)
        self.description, self.refusal = None, ""
        self.changed.emit()
        if path is not None:
            self._ask("describe", DescribeModel(model=path), ModelDescription, self._on_described, self._on_refused)

    def ask(
        self,
        kind: str,
        request: ModelQuestion,
        answer_type: type[AnswerT],
        handle_result: Callable[[AnswerT], object],
        handle_failure: Callable[[str], object],
        show_progress: Callable[[str, float | None], object] | None = None,
    ) -> None:
        """Only the newest question of a ``kind`` is answered."""
        self._ask(
            kind, request, answer_type, handle_result, lambda refusal: handle_failure(str(refusal)), show_progress
        )

    def forget(self, kind: str) -> None:
        """Nobody wants the answer to the question of that kind any more."""
        ticket = self._tickets.pop(kind, None)
        if ticket is not None:
            self._context.engine.interrupt(ticket)

    def _ask(
        self,
        kind: str,
        request: ModelQuestion,
        answer_type: type[AnswerT],
        handle_result: Callable[[AnswerT], object],
        handle_failure: Callable[[Refusal], object],
        show_progress: Callable[[str, float | None], object] | None = None,
    ) -> None:
        self.forget(kind)
        self._tickets[kind] = self._context.engine.ask(
            request, answer_type, handle_result, handle_failure, show_progress
        )

    def _on_described(self, description: ModelDescription) -> None:
        self.description = description
        self.changed.emit()

    def _on_refused(self, refusal: Refusal) -> None:
        self.refusal = str(refusal)
        self.changed.emit()
