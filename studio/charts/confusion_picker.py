"""A confusion matrix in which cells, rows, columns and boxes of cells are chosen, by mouse and keyboard."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen

from studio.charts.confusion import ConfusionMatrix
from studio.theme import theme

_STEPS = {
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
}
_CHOOSE = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)
_HANDLE = 14.0
"""Pixels beside and above cells that are too small for names: a click there chooses a row or a column."""
_Cell = tuple[int, int]


class Box(NamedTuple):
    """Cells from one row to another and from one column to another, both included."""

    top: int
    left: int
    bottom: int
    right: int


class ConfusionPicker(ConfusionMatrix):
    """A click chooses a cell, on a name its row or column, a drag a box; with the keyboard the arrows go from cell to cell, Enter
    chooses, with Shift the row and with Ctrl the column, and Escape chooses all again.

    Signals:
        chosen(Box | None): what the person chose; None for everything.
        pointed(str): what the cell under the mouse, or the keyboard's, tells; "" beside all.
    """

    chosen = Signal(object)
    pointed = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self._marked: Box | None = None
        self._start: _Cell | None = None  # where the mouse went down
        self._end: _Cell | None = None
        self._at: _Cell = (0, 0)  # the keyboard's
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def mark(self, box: Box | None) -> None:
        """Show what is chosen."""
        if box != self._marked:
            self._marked = box
            self.update()

    def place_at(self, position: QPointF) -> _Cell | None:
        """As ``cell_at``; beside a row its column is -1, above a column its row."""
        square, cell, corner = self._square(), self._cell(), self._find_corner()
        if not cell:
            return None
        row, column = int((position.y() - square.top()) // cell), int((position.x() - square.left()) // cell)
        is_beside = position.x() < corner.x() + square.left()  # on the names, which may lie over cells
        is_above = position.y() < corner.y() + square.top()
        if not is_beside and not is_above:
            return self.cell_at(position)
        at, classes = (row if is_beside else column), len(self._names)
        if (is_beside and is_above) or not 0 <= at < classes:
            return None
        return (at, -1) if is_beside else (-1, at)

    # ------------------------------------------------------------------------------------------- events

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._start = self._end = self.place_at(event.position())
            self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        cell = self.cell_at(event.position())
        self.pointed.emit(self.describe_cell(*cell) if cell is not None else "")
        if self._start is not None and min(self._start) >= 0 and cell is not None:
            self._end = cell
            self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        start, end = self._start, self._end
        self._start = self._end = None
        if event.button() == Qt.MouseButton.LeftButton and start is not None and end is not None:
            if min(start) >= 0:
                self._at = end
            self.chosen.emit(self._span(start, end))
        self.update()

    def leaveEvent(self, event: object) -> None:
        self.pointed.emit("")

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._tell_place()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, classes = Qt.Key(event.key()), len(self._names)
        if not classes:
            super().keyPressEvent(event)
        elif key in _STEPS:
            down, across = _STEPS[key]
            row, column = self._at
            self._at = min(max(row + down, 0), classes - 1), min(max(column + across, 0), classes - 1)
            self._tell_place()
        elif key in _CHOOSE:
            row, column = self._at
            if event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
                column = -1
            elif event.modifiers() & Qt.KeyboardModifier.ControlModifier:
                row = -1
            self.chosen.emit(self._span((row, column), (row, column)))
        elif key == Qt.Key.Key_Escape and self._marked is not None:
            self.chosen.emit(None)
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._names:
            return
        painter, palette, square = QPainter(self), theme().palette, self._square()
        if not super()._margin():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(palette.pressed))
            painter.drawRect(QRectF(0, square.top(), _HANDLE - 4, square.height()))
            painter.drawRect(QRectF(square.left(), 0, square.width(), _HANDLE - 4))
            painter.setBrush(Qt.BrushStyle.NoBrush)
        box = self._span(self._start, self._end) if self._start and self._end else self._marked
        if box is not None:
            painter.setPen(QPen(QColor(palette.text), 2))
            painter.drawRect(self._frame(box).adjusted(-1, -1, 1, 1))
        if self.hasFocus():
            row, column = (min(place, len(self._names) - 1) for place in self._at)
            painter.setPen(QPen(QColor(palette.accent), 1.5, Qt.PenStyle.DotLine))
            painter.drawRect(self._frame(Box(row, column, row, column)).adjusted(-2, -2, 2, 2))

    # ------------------------------------------------------------------------------------------- inside

    def _margin(self) -> float:
        return super()._margin() or _HANDLE

    def _tell_place(self) -> None:
        if self._names:
            row, column = (min(place, len(self._names) - 1) for place in self._at)
            self.setAccessibleDescription(self.describe_cell(row, column))
            self.pointed.emit(self.describe_cell(row, column))
            self.update()

    def _span(self, start: _Cell, end: _Cell) -> Box:
        last = len(self._names) - 1
        if start[1] < 0:
            return Box(start[0], 0, start[0], last)
        if start[0] < 0:
            return Box(0, start[1], last, start[1])
        rows, columns = sorted((start[0], end[0])), sorted((start[1], end[1]))
        return Box(rows[0], columns[0], rows[1], columns[1])

    def _frame(self, box: Box) -> QRectF:
        square, cell = self._square(), self._cell()
        return QRectF(
            square.left() + box.left * cell,
            square.top() + box.top * cell,
            (box.right - box.left + 1) * cell,
            (box.bottom - box.top + 1) * cell,
        )
