"""Another checkpoint, or another run, on the same samples: which is better, and the samples that only one of the two gets right."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QSignalBlocker, Slot

from studio.pages.evaluate.view import View
from studio.state.context import AppContext
from studio.state.evaluations.comparison import (
    Answers,
    Compared,
    ComparisonQuestion,
    find_comparable,
    find_only_right,
    knows_right,
    read_answers,
)
from studio.state.evaluations.selection import Mask, Selection
from studio.widgets import STRETCH, ComboBox, button, hbox, in_widget, label
from training.errors import InputError
from training.predictions import Evaluation, EvaluationRecord
from training.runs.folder import RunFolder
from training.system.plain_table import Table

_NOTHING = "Choose an evaluation"
_ALONE = "No other checkpoint or run was evaluated on this data yet."
_WORDS = {True: "A right, B wrong", False: "B right, A wrong"}


class CompareView(View):
    """A is what the page shows, B what is chosen here."""

    key = "compare"
    heading = "Compared with"
    tab = "Metrics"

    def __init__(self, context: AppContext, selection: Selection) -> None:
        super().__init__(context, selection)
        self.other: Evaluation | None = None
        self._evaluation: Evaluation | None = None
        self._others: Sequence[Evaluation] = ()
        self._answers: Answers | None = None  # of B
        self._masks: dict[bool, Mask] = {}
        self._found: dict[str, str] = {}  # the sentence of each metric
        self._question = ComparisonQuestion(context.engine, self)
        self._question.answered.connect(self._on_answered)
        self.picker = ComboBox()
        self.picker.setAccessibleName("Evaluation to compare with")
        self.picker.activated.connect(self._on_chosen)
        self.sentences = label("", wrap=True)
        self.only = {first: button(words, clicked=partial(self._choose, first)) for first, words in _WORDS.items()}
        self._buttons = in_widget(hbox(*self.only.values(), STRETCH))
        self.add(self.picker, self.sentences, self._buttons)
        self.offer(None, self.tabulate)
        context.library.refreshed.connect(self._look_for_others)
        self._show_pair()

    @classmethod
    def supports(cls, record: EvaluationRecord) -> bool:
        return True

    def show_evaluation(self, evaluation: Evaluation) -> None:
        before, self._evaluation = self._evaluation, evaluation
        if before is None or before.record.fingerprint != evaluation.record.fingerprint:
            self.other, self._others = None, ()
            self._offer()
        self._look_for_others()
        self._show_pair()

    def follow(self) -> None:
        mask, chosen = self.selection.mask_of_others(self.key), self.find_chosen()
        for first, found in self._masks.items():
            count = int((found if mask is None else found & mask).sum())
            self.only[first].setText(f"{_WORDS[first]}: {count:,}")
            self.only[first].setEnabled(bool(count) or chosen == first)

    def let_go(self) -> None:
        self._evaluation = None
        self._question.drop()

    def tabulate(self) -> Table:
        """The sentence of each metric; A is what the page shows."""
        other = self._name(self.other) if self.other is not None else ""
        return {
            "metric": list(self._found),
            "B": [other] * len(self._found),
            "comparison": list(self._found.values()),
        }

    # ------------------------------------------------------------------------------------------- inside

    @Slot()
    def _look_for_others(self) -> None:
        shown, runs = self._evaluation, [RunFolder(run.folder.path) for run in self.context.library.runs]
        if shown is None:
            return

        def take(found: list[Evaluation]) -> None:
            if shown is self._evaluation:
                self._others = [each for each in found if each.folder != shown.folder]
                self._offer()

        self.context.background.submit(lambda: find_comparable(shown, runs), take, lambda error: take([]))

    def _offer(self) -> None:
        at = 0
        with QSignalBlocker(self.picker):
            self.picker.clear()
            self.picker.addItem(_NOTHING if self._others else _ALONE)
            for place, each in enumerate(self._others, 1):
                self.picker.addItem(self._name(each))
                at = place if self.other is not None and each.folder == self.other.folder else at
            self.picker.setCurrentIndex(at)
        self.picker.setEnabled(bool(self._others))

    def _name(self, evaluation: Evaluation) -> str:
        record, shown = evaluation.record, self._evaluation
        run = evaluation.folder.parent.parent.name
        step = f"Step {record.step:,}"
        if shown is not None and run == shown.folder.parent.parent.name:
            return step
        known = self.context.library.find(run)
        return f"{self.context.library.title_of(known) if known is not None else run} · {step}"

    @Slot(int)
    def _on_chosen(self, at: int) -> None:
        self.selection.remove(self.key)  # it was about another pair
        self.other = self._others[at - 1] if at > 0 else None
        self._show_pair()
        self.follow()

    def _show_pair(self) -> None:
        """Ask about A and B, and find where only one of them is right."""
        self._masks, self._found, shown, other = {}, {}, self._evaluation, self.other
        self._question.drop()
        if shown is None or other is None or shown.folder == other.folder:
            self._say("" if other is None else "This is the same evaluation.")
        else:
            self._say("Comparing …")
            try:
                if knows_right(shown.record):
                    self._answers = answers = read_answers(other, shown)
                    self._masks = {first: find_only_right(shown, other=answers, first=first) for first in _WORDS}
                self._question.ask(shown, other)
            except InputError as error:
                self._say(str(error))
        self._buttons.setVisible(bool(self._masks))

    def _choose(self, first: bool) -> None:
        other, answers = self.other, self._answers
        if other is not None and answers is not None:
            words = f"{_WORDS[first]} (B: {self._name(other)})"
            self.choose(words, partial(find_only_right, other=answers, first=first), first)

    @Slot(object)
    def _on_answered(self, found: Compared) -> None:
        shown = self._evaluation
        step = f"A: step {shown.record.step:,}" if shown is not None else ""
        self._found = found.sentences
        lines = found.list_lines()
        if lines and self.other is not None:
            lines.insert(0, f"{step}, B: {self._name(self.other)}")
        self._say("\n".join([*lines, *found.notes]))

    def _say(self, words: str) -> None:
        self.sentences.setText(words)
        self.sentences.setVisible(bool(words))
