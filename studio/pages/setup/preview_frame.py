"""What stands around an answer of the engine: a quiet line while it is on its way, a sentence where there is none."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout, QWidget

from studio.pages.setup.question import Question
from studio.theme import SPACING
from studio.widgets import Card, EmptyState, ProgressLine


class PreviewFrame(QWidget):
    """Shows ``content`` while ``question`` has an answer; ``waiting`` is what it says before the first one."""

    ROOM_ABOVE = 6 + SPACING.s

    def __init__(self, question: Question, content: QWidget, *, icon_name: str, waiting: str, nothing: str) -> None:
        super().__init__()
        self._question = question
        self._content = content
        self._icon_name = icon_name
        self._waiting = waiting
        self._nothing = nothing
        self._line = ProgressLine()
        keep = self._line.sizePolicy()
        keep.setRetainSizeWhenHidden(True)  # else everything would jump at each question
        self._line.setSizePolicy(keep)
        self._message = EmptyState(icon_name, waiting, "")
        self._box = Card()
        self._box.add(self._message)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACING.s)
        column.addWidget(self._line)
        column.addWidget(self._box)
        column.addWidget(content)
        question.changed.connect(self._update)
        self._update()

    def _update(self) -> None:
        question = self._question
        text, fraction = question.progress
        self._line.set_progress(fraction if question.busy else 0.0)
        self._line.setVisible(question.busy)
        self._content.setVisible(question.answer is not None)
        self._box.setVisible(question.answer is None)
        if question.answer is None and question.refusal:
            self._message.set_content("warning", self._nothing, question.refusal)
        elif question.answer is None:
            self._message.set_content(self._icon_name, self._waiting, text)
