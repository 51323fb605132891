"""Labels by what they are for, and one that shortens itself."""

import math
import re

from PySide6.QtCore import QEvent, QSize, Qt, Slot
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QLabel, QPlainTextEdit, QSizePolicy, QWidget

from studio.theme import IconRole, LabelRole, font, icon, set_role, theme

_BREAK = "\u200b"  # a space of no width


def make_breakable(text: str, longest: int = 60) -> str:
    """``text`` with places inside words of ``longest`` letters and more where a line may end."""

    def split(word: re.Match[str]) -> str:
        pieces = re.findall(rf"[^/\\_.=:-]{{1,{longest}}}[/\\_.=:-]*|[/\\_.=:-]+", word[0])
        return _BREAK.join(pieces)

    return re.sub(rf"\S{{{longest},}}", split, text)


def label(text: str = "", role: LabelRole = "body", *, wrap: bool = False, selectable: bool = False) -> QLabel:
    """A text in the look of its role. `selectable` for what a person may want to copy (paths, figures, errors)."""
    made = QLabel(text, wordWrap=wrap)
    dress(made, role, selectable=selectable)
    return made


def dress(made: QLabel, role: LabelRole, *, selectable: bool = False) -> None:
    """Give a label the look of a role."""
    made.setTextFormat(Qt.TextFormat.PlainText)
    set_role(made, role)
    if selectable:
        made.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        made.setCursor(Qt.CursorShape.IBeamCursor)


def separator() -> QFrame:
    """A one-pixel line."""
    line = QFrame()
    line.setProperty("separator", True)
    line.setFixedHeight(1)
    return line


class MonoText(QPlainTextEdit):
    """A text to read, every letter as wide as the others, in the size that the person wants by now."""

    def __init__(self, name: str, text: str = "") -> None:
        super().__init__(text)
        self.setReadOnly(True)
        self.setAccessibleName(name)
        theme().changed.connect(self._dress)
        self._dress()

    @Slot()
    def _dress(self) -> None:
        self.setFont(font("mono"))


class ElidedLabel(QLabel):
    """One line that is shortened with "…" when there is no room; the whole text is then its tool tip."""

    def __init__(self, text: str = "", mode: Qt.TextElideMode = Qt.TextElideMode.ElideMiddle) -> None:
        super().__init__(text)
        self._mode = mode
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)

    def setText(self, text: str) -> None:
        if text != self.text():
            super().setText(text)
            self._update_tool_tip()

    def elide(self) -> str:
        """What is shown at the present width."""
        return self.fontMetrics().elidedText(self.text(), self._mode, self.contentsRect().width())

    def minimumSizeHint(self) -> QSize:
        whole = super().minimumSizeHint()
        return QSize(min(self.fontMetrics().horizontalAdvance("…") * 3, whole.width()), whole.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._update_tool_tip()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        painter.drawText(self.contentsRect(), self.alignment(), self.elide())

    def _update_tool_tip(self) -> None:
        self.setToolTip(self.text() if self.elide() != self.text() else "")


class SteadyLabel(QLabel):
    """A figure that changes many times a minute. It keeps its room while a text fits well enough.

    A label that changes asks every layout around it, up to the window, to be counted again, which costs many times the
    label itself; one of a fixed size asks nothing. And what stands beside it does not dance.
    """

    _EDGE = 2  # pixels: slanted letters lean out of their width

    def __init__(self, role: LabelRole = "body", *, selectable: bool = False) -> None:
        super().__init__()
        dress(self, role, selectable=selectable)
        self._make_room()

    def setText(self, text: str) -> None:
        if text != self.text():
            super().setText(text)
            self._make_room()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._make_room()

    def _make_room(self) -> None:
        metrics = self.fontMetrics()
        needed = metrics.horizontalAdvance(self.text()) + self._EDGE
        height = math.ceil(QFontMetricsF(self.font()).height())  # as QLabel counts it
        spare = metrics.horizontalAdvance("0") + 1  # figures come and go by a digit at their end
        if height != self.maximumHeight() or not 0 <= self.maximumWidth() - needed <= spare:
            self.setFixedSize(needed, height)


class IconLabel(QWidget):
    """An icon that only decorates: screen readers pass over it, its color follows the theme."""

    def __init__(self, name: str, size: int, role: IconRole = "muted") -> None:
        super().__init__()
        self.setFixedSize(size, size)
        self.set_icon(name, role)

    def set_icon(self, name: str, role: IconRole = "muted") -> None:
        """Show another icon; "" shows none."""
        self._icon = icon(name, role) if name else None
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._icon is not None:
            self._icon.paint(QPainter(self), self.rect())
