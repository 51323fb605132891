"""What stands around an answer of the engine: a quiet line while it is on its way, a sentence where there is none."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from studio.panels.data.engine_query import EngineQuery, PreviewT
from studio.theme import SPACING
from studio.widgets import STRETCH, Card, IconLabel, ProgressLine, in_widget, label, vbox


class PreviewFrame(QWidget):
    """Shows ``content`` while ``question`` has an answer; ``waiting`` is what it says before the first one. ``always`` stands
    above it and is there without an answer, too. Where it does not stand ``beside_fields``, it says what is wrong in them itself."""

    ROOM_ABOVE = 6 + SPACING.s

    def __init__(
        self,
        question: EngineQuery[PreviewT],
        content: QWidget,
        *,
        icon_name: str,
        waiting: str,
        nothing: str,
        always: QWidget | None = None,
        beside_fields: bool = True,
    ) -> None:
        super().__init__()
        self._question = question
        self._content = content
        self._icon_name = icon_name
        self._waiting = waiting
        self._nothing = nothing
        self._find_refusal = question.find_refusal if beside_fields else question.tell_refusal
        self._line = ProgressLine()
        keep = self._line.sizePolicy()
        keep.setRetainSizeWhenHidden(True)  # else everything would jump at each question
        self._line.setSizePolicy(keep)
        self._image = IconLabel(icon_name, 40)
        self._title = label(waiting, "section")
        self._sentence = label("", "subtitle", wrap=True)
        self._box = self._build_box()
        edge = 0 if beside_fields else SPACING.l
        self._around = in_widget(vbox(self._box, STRETCH, margins=edge))
        column = vbox(self._line, self._around, parent=self)
        if always is not None:
            column.addWidget(always)
        column.addWidget(content)
        question.changed.connect(self._update)
        self._update()

    def _update(self) -> None:
        question = self._question
        text, fraction = question.progress
        self._line.set_progress(fraction if question.busy else 0.0)
        self._line.setVisible(question.busy)
        self._content.setVisible(question.answer is not None)
        self._around.setVisible(question.answer is None)
        refusal, fault = self._find_refusal()
        self._image.set_icon("warning" if fault else self._icon_name)
        self._title.setText(self._nothing if refusal else self._waiting)
        self._sentence.setText(refusal or text)

    def message(self) -> str:
        """What stands in place of an answer; "" when there is one."""
        return "" if self._around.isHidden() else f"{self._title.text()}: {self._sentence.text()}"

    def _build_box(self) -> Card:
        box = Card()
        center = Qt.AlignmentFlag.AlignHCenter
        self._title.setAlignment(center)
        self._sentence.setAlignment(center)
        column = vbox(
            (self._image, 0, center),
            self._title,
            self._sentence,
            margins=(SPACING.l, SPACING.xxl, SPACING.l, SPACING.xxl),
        )
        box.add(column)
        return box
