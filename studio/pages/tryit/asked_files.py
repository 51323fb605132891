"""Files that a model is asked about, page by page, and all at once into a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Slot

from studio.actions.saving import ask_for_place
from studio.pages.tryit.answer_view import AnswerView
from studio.pages.tryit.asked_model import AskedModel
from studio.state.context import AppContext
from training.errors import pluralize
from training.protocol.model_answers import ModelAnswers, SavedAnswers
from training.protocol.model_questions import AskFiles, SaveAnswers

KIND = "samples"
_SAVE = "save"
_PAGE = 12


class AskedFiles(QObject):
    """Shows answers in ``answers``, and follows the bar above them."""

    def __init__(
        self, context: AppContext, model: AskedModel, answers: AnswerView, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._context = context
        self._model = model
        self._answers = answers
        self._bar = answers.bar
        self._files: tuple[Path, ...] = ()
        self._shown = (0, 0, 0)
        self._size = 0
        answers.answered.connect(self._show_pages)
        self._bar.turned.connect(self._turn)
        self._bar.save_wanted.connect(self._on_save)
        self._bar.canceled.connect(self._on_cancel)

    def take(self, files: Sequence[Path]) -> None:
        """Ask about ``files`` from now on."""
        self.forget()
        self._files = tuple(files)
        self._answers.clear("")
        self._ask(0)

    def forget(self) -> None:
        """Something else is asked now."""
        self._model.forget(_SAVE)
        self._model.forget(KIND)
        self._files, self._shown, self._size = (), (0, 0, 0), 0
        self._bar.hide()

    def _ask(self, offset: int) -> None:
        path = self._context.model_to_try.path
        if path is None:
            return

        def show(found: ModelAnswers) -> None:
            last = offset + len(found.answers)
            self._size = max(self._size, len(found.answers))
            self._shown = (offset, last, last + found.left_out)
            self._answers.show_answers(found)

        self._bar.show_work("Asking the model …", None)
        request = AskFiles(model=path, files=self._files, offset=offset, most=_PAGE)
        self._model.ask(KIND, request, ModelAnswers, show, self._refuse, self._tell)

    @Slot()
    def _show_pages(self) -> None:
        if self._files:  # a row has none
            self._bar.show_pages(*self._shown)

    def _tell(self, text: str, fraction: float | None) -> None:
        self._bar.show_work(f"Asking the model: {text}" if text else "Asking the model …", fraction)

    def _refuse(self, why: str) -> None:
        self._bar.show_pages(*self._shown)
        self._answers.say(why)

    @Slot(int)
    def _turn(self, by: int) -> None:
        first, last, _ = self._shown
        self._ask(last if by > 0 else max(first - self._size, 0))

    @Slot()
    def _on_cancel(self) -> None:
        self._model.forget(_SAVE)
        self._model.forget(KIND)
        self._refuse("Canceled.")

    @Slot()
    def _on_save(self) -> None:
        path = self._context.model_to_try.path
        out = ask_for_place(self._bar, "Save all answers", "CSV", "answers.csv", "csv")
        if path is None or out is None:
            return

        def tell_saved(saved: SavedAnswers) -> None:
            left = saved.samples - saved.answered
            rest = f"; {left:,} could not be, and are noted there" if left else ""
            self._refuse(f"{out}: {pluralize(saved.answered, 'sample')} answered{rest}.")

        self._bar.show_work("Asking the model …", None)
        request = SaveAnswers(model=path, files=self._files, out=out)
        self._model.ask(_SAVE, request, SavedAnswers, tell_saved, self._refuse, self._tell)
