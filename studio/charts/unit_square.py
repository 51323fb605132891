"""A square whose axes go from 0 to 1, for charts of rates: where a point lies in it, and its frame."""

from __future__ import annotations

from typing import NamedTuple

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from studio.theme import Palette, font

_TICKS = (0.0, 0.5, 1.0)
_GAP = 4.0


class UnitSquare(NamedTuple):
    """``room``: where the square is, in pixels; the words of its axes lie around it."""

    room: QRectF

    @classmethod
    def within(cls, place: QRectF, line: float, below: float = 0.0) -> UnitSquare:
        """The largest one in ``place``, in the middle of its width, beside its words, which are ``line`` high; ``below`` stays free."""
        left, top = 2.2 * line, 1.6 * line
        side = max(min(place.width() - left - line, place.height() - top - 2.4 * line - below), 1.0)
        spare = max(place.width() - left - line - side, 0.0) / 2
        return cls(QRectF(place.left() + left + spare, place.top() + top, side, side))

    def place(self, x: float, y: float) -> QPointF:
        """Where a point lies."""
        return QPointF(self.room.left() + x * self.room.width(), self.room.bottom() - y * self.room.height())

    def paint_frame(self, painter: QPainter, palette: Palette, title: str, across: str, up: str) -> None:
        """Grid, figures and names of the axes; what is counted upward stands above, before the title where there is room for both."""
        painter.setFont(font("caption"))
        room, line = self.room, painter.fontMetrics().height()
        for tick in _TICKS:
            painter.setPen(QPen(QColor(palette.border), 1))
            painter.drawLine(self.place(tick, 0), self.place(tick, 1))
            painter.drawLine(self.place(0, tick), self.place(1, tick))
            painter.setPen(QColor(palette.muted))
            words = f"{tick:g}"
            below = QRectF(self.place(tick, 0).x() - 30, room.bottom() + _GAP, 60, line)
            painter.drawText(below, Qt.AlignmentFlag.AlignCenter, words)
            beside = QRectF(room.left() - 40, self.place(0, tick).y() - line / 2, 40 - _GAP, line)
            painter.drawText(beside, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, words)
        under = QRectF(room.left() - 60, room.bottom() + _GAP + line, room.width() + 120, line)
        painter.drawText(under, Qt.AlignmentFlag.AlignCenter, across)
        above = QRectF(room.left() - 2 * line, room.top() - 1.4 * line, room.width() + 3 * line, line)
        words = f"↑ {up}"
        painter.drawText(above, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, words)
        if painter.fontMetrics().horizontalAdvance(f"{words}  {title}") <= above.width():
            painter.drawText(above, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, title)
