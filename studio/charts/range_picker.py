"""A histogram in which a range is chosen, and which shows how many of each bar are chosen elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen

from studio.charts.ground import paint_focus
from studio.charts.histogram import Histogram
from studio.theme import Palette, theme

Bars = tuple[int, int]
"""The first and the last one, both included."""


class RangePicker(Histogram):
    """A drag chooses bars, a click one; with the keyboard the arrows go from bar to bar, Shift takes in all on the way, Enter
    chooses, and Escape chooses all again. Signals: `chosen(Bars | None)`."""

    chosen = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._part: tuple[int, ...] | None = None
        self._marked: Bars | None = None
        self._start: int | None = None  # where the mouse went down, or the keyboard set out
        self._end: int | None = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def set_part(self, counts: Sequence[int] | None) -> None:
        """How many of each bar are among what is chosen; None: all."""
        self._part = None if counts is None else tuple(counts)
        self.update()

    def mark(self, bars: Bars | None) -> None:
        """Show what is chosen here."""
        if bars != self._marked:
            self._marked, self._start, self._end = bars, None, None
            self.update()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self._counts:
            self._start = self._end = self._bar_at(event.position().toPoint())
            self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._start is not None and event.buttons() & Qt.MouseButton.LeftButton:
            self._end = self._bar_at(event.position().toPoint())
            self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._choose()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, last = Qt.Key(event.key()), len(self._counts) - 1
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Right) and last >= 0:
            by = 1 if key == Qt.Key.Key_Right else -1
            self._end = min(max((self._end if self._end is not None else -1 if by > 0 else last + 1) + by, 0), last)
            if self._start is None or not event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
                self._start = self._end
            self._describe(self._end)
            self.update()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and self._end is not None:
            self._choose()
        elif key == Qt.Key.Key_Escape and self._marked is not None:
            self.chosen.emit(None)
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        bars = self._marked
        if self._start is not None and self._end is not None:
            bars = min(self._start, self._end), max(self._start, self._end)
        painter, palette = QPainter(self), theme().palette
        if bars is not None and self._counts:
            room = self._room()
            width = room.width() / len(self._counts)
            box = QRectF(room.left() + bars[0] * width, room.top(), (bars[1] - bars[0] + 1) * width, room.height())
            inside = QColor(palette.accent)
            inside.setAlpha(36)
            painter.fillRect(box, inside)
            painter.setPen(QPen(QColor(palette.text), 1.5))
            painter.drawRect(box)
        paint_focus(painter, self)

    def _paint_bars(self, painter: QPainter, room: QRectF, palette: Palette) -> None:
        for number, count in enumerate(self._counts):
            self._paint_bar(painter, room, number, count, palette.accent if self._part is None else palette.faint)
        for number, count in enumerate(self._part or ()):
            self._paint_bar(painter, room, number, count, palette.accent)

    def _bar_at(self, point: QPoint) -> int:
        """The nearest bar."""
        room = self._room()
        number = int((point.x() - room.left()) // (room.width() / max(len(self._counts), 1)))
        return min(max(number, 0), len(self._counts) - 1)

    def _choose(self) -> None:
        start, end = self._start, self._end
        self._start = self._end = None
        if start is not None and end is not None:
            self.chosen.emit((min(start, end), max(start, end)))
        self.update()

    def _describe(self, number: int) -> None:
        low, high = (self._format(edge) for edge in self._edges[number : number + 2])
        self.setAccessibleDescription(f"{low} to {high}: {self._counts[number]:,}")
