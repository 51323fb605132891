"""What a view of the Evaluate page is: it shows an evaluation, lets samples be chosen in it, and follows what the others chose."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from PySide6.QtWidgets import QWidget

from studio.panels.charts.save_menu import SaveMenu
from studio.state.context import AppContext
from studio.state.evaluations.selection import Criterion, Mask, Selection
from studio.theme import theme
from studio.widgets import Card, icon_button
from training.predictions import Evaluation, EvaluationRecord
from training.system.plain_table import Table

_FEWEST_ROWS = 6


class View(Card):
    """Base of the views, each of which has a row in ``view_list``.

    A view is made once and shows one evaluation after another; the page calls ``show_evaluation``, and then ``follow``, only where
    ``supports`` says that there is something to show.
    """

    key: ClassVar[str]
    """Its own, for its criterion and in tests."""
    heading: ClassVar[str]
    """Stands on the card."""
    tab: str
    """The tab that the card is in where one view is shown at a time; several may share one. ``show_evaluation`` may change it."""

    def __init__(self, context: AppContext, selection: Selection) -> None:
        super().__init__(self.heading)
        self.context = context
        self.selection = selection
        self._height: int | None = None

    @classmethod
    def supports(cls, record: EvaluationRecord) -> bool:
        """Whether such an evaluation can be shown."""
        raise NotImplementedError

    def show_evaluation(self, evaluation: Evaluation) -> None:
        """Take up another evaluation; ``follow`` comes next."""
        raise NotImplementedError

    def follow(self) -> None:
        """The selection changed: show what ``selection.mask_of_others(self.key)`` leaves, and mark what this view chose."""
        raise NotImplementedError

    def set_height(self, height: int | None) -> None:
        """Fit into so many pixels, if that can be; None: it is one of several in a column, and as high as it likes to be."""
        if height != self._height:
            self._height = height
            self.fit_height()

    def fit_height(self) -> None:
        """``set_height`` gave another height."""

    def count_rows(self, most: int, around: int, row_height: int) -> int:
        """How many rows of a table are shown at a time, with ``around`` pixels above and below it, for text of the designed size;
        ``most`` in a column."""
        if self._height is None:
            return most
        return max((self._height - round(around * max(theme().font_scale, 1.0))) // row_height, _FEWEST_ROWS)

    def let_go(self) -> None:
        """It will be deleted: who answers it is to be asked no more."""

    def choose(self, words: str, find: Callable[[Evaluation], Mask], place: object = None) -> None:
        """Choose samples; the same words as before choose all again, so a second click undoes the first."""
        known = self.selection.criteria.get(self.key)
        if known is not None and known.words == words:
            self.selection.remove(self.key)
        else:
            self.selection.choose(Criterion(self.key, words, find, place))

    def find_chosen(self) -> object:
        """The place of what was chosen here; None where nothing is."""
        criterion = self.selection.criteria.get(self.key)
        return criterion.place if criterion is not None else None

    def offer(self, drawing: QWidget | None, tabulate: Callable[[], Table] | None) -> None:
        """Let ``drawing`` be copied and saved as an image, and what ``tabulate`` gives as a table."""
        tables = (lambda: [tabulate()]) if tabulate is not None else None
        self.menu = SaveMenu(
            self.context, self, lambda: name_file(self.selection.evaluation, self.key), drawing, tables
        )
        self.add_action(icon_button("more", f"Copy or save: {self.heading}", clicked=self.menu.open))


def name_file(evaluation: Evaluation | None, what: str) -> str:
    """What a file with ``what`` of ``evaluation`` is called, without a suffix."""
    return f"{evaluation.record.run}-{evaluation.folder.name}-{what}" if evaluation is not None else what
