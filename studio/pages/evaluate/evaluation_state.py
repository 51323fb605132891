"""What stands in the place of an evaluation that is not there: why, and the way to it."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from studio.pages.evaluate.header import PART_TITLES
from studio.state.context import AppContext
from studio.state.evaluations.evaluation_choice import EvaluationChoice
from studio.widgets import EmptyState, vbox

_ICON = "evaluate"
_NO_RUN = ("No runs yet", "Train a model first: every checkpoint of a run can be evaluated here, sample by sample.")
_READING = ("Reading the run …", "Its checkpoints and its evaluations are being listed.")
_NO_CHECKPOINT = ("Nothing to evaluate yet", "This run has no checkpoint. One is saved at its first validation.")


class EvaluationState(QWidget):
    """Follows ``choice``."""

    def __init__(self, context: AppContext, choice: EvaluationChoice) -> None:
        super().__init__()
        self._context = context
        self._choice = choice
        self._problem = ""  # why the evaluation that is there cannot be read
        self.empty = EmptyState(_ICON, *_READING)
        vbox((self.empty, 1), parent=self)
        choice.changed.connect(self._follow)
        context.library.refreshed.connect(self._follow)
        self._follow()

    def set_problem(self, sentence: str) -> None:
        """Say why the evaluation cannot be shown, until another one is chosen."""
        self._problem = sentence
        self._show()

    @Slot()
    def _follow(self) -> None:
        self._problem = ""
        self._show()

    def _show(self) -> None:
        self.empty.set_content(*self._describe())

    def _describe(self) -> tuple[str, str, str]:
        choice, library = self._choice, self._context.library
        if self._problem:
            return "warning", "This evaluation cannot be read", self._problem
        if choice.folder is None:
            return (_ICON, *(_NO_RUN if library.loaded and not library.runs else _READING))
        if not choice.loaded:
            return (_ICON, *_READING)
        if choice.step is None:
            return (_ICON, *_NO_CHECKPOINT)
        data = PART_TITLES.get(choice.on, choice.on)
        return _ICON, "Not evaluated yet", f"Step {choice.step:,} on: {data[0].lower()}{data[1:]}."
