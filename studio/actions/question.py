"""A question with a few answers, each said in full on its own button."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtWidgets import QDialog, QWidget

from studio.theme import SPACING, Variant
from studio.widgets import STRETCH, button, fill, hbox, label, vbox

MAY_DIFFER = "Another engine can go on with it, but results may differ in the last digits."
"""Where a run may go on by another engine than its own."""
_WIDTH = 480


@dataclass(frozen=True)
class Answer:
    """One button; the first answer of a question is the one Enter gives."""

    key: str
    text: str
    variant: Variant = "secondary"


class Question(QDialog):
    """Asks; ``answer`` is the key chosen, "" when the person turned away (Escape, closing, Cancel)."""

    def __init__(self, parent: QWidget | None, title: str, text: str, answers: Sequence[Answer]) -> None:
        super().__init__(parent)
        self.answer = ""
        self.title = title
        self.setWindowTitle(title)
        self.setModal(True)
        column = vbox(parent=self, margins=(SPACING.xl, SPACING.xl, SPACING.xl, SPACING.l))
        for words, role in ((title, "section"), (text, "body")):
            made = label(words, role, wrap=True)  # type: ignore[arg-type]
            made.setFixedWidth(_WIDTH)
            made.setMinimumHeight(made.heightForWidth(_WIDTH))
            column.addWidget(made)
        buttons = []
        for at, answer in enumerate(answers):
            choose = button(answer.text, variant=answer.variant)
            choose.clicked.connect(lambda _checked=False, key=answer.key: self._choose(key))
            choose.setDefault(at == 0)
            buttons.append(choose)
        cancel = button("Cancel", clicked=self.reject)
        fill(column, hbox(STRETCH, *buttons, cancel, margins=(0, SPACING.m, 0, 0)))

    def _choose(self, key: str) -> None:
        self.answer = key
        self.accept()


def ask(parent: QWidget | None, title: str, text: str, answers: Sequence[Answer]) -> str:
    """The key of the answer given; "" for Cancel."""
    question = Question(parent, title, text, answers)
    question.exec()
    question.deleteLater()
    return question.answer
