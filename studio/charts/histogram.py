"""How often the values of one number fall into each of equal intervals. Painted directly, as Scatter is."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.theme import RADIUS, font, theme
from studio.widgets import format_number

_PAD = 12.0


class Histogram(QWidget):
    """Bars from the smallest value to the largest; what the ends are stands below them."""

    def __init__(self) -> None:
        super().__init__()
        self._name = ""
        self._counts: tuple[int, ...] = ()
        self._ends = ("", "")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_counts(self, name: str, low: float, high: float, counts: Sequence[int]) -> None:
        """Show how many values of ``name`` lie in each of the equal intervals between ``low`` and ``high``."""
        self._name = name
        self._counts = tuple(counts)
        self._ends = (format_number(float(f"{low:.6g}")), format_number(float(f"{high:.6g}")))
        self.setAccessibleName(f"{name}: {sum(counts):,} values from {self._ends[0]} to {self._ends[1]}")
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(320, 132)

    def paintEvent(self, event: QPaintEvent) -> None:
        palette = theme().palette
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(palette.sunken))
        painter.drawRoundedRect(self.rect(), RADIUS.medium, RADIUS.medium)
        painter.setFont(font("caption"))
        metrics = painter.fontMetrics()
        line = metrics.height()
        room = QRectF(self.rect()).adjusted(_PAD, _PAD + line + 2, -_PAD, -_PAD - line)
        painter.setPen(QColor(palette.muted))
        name = metrics.elidedText(self._name, Qt.TextElideMode.ElideMiddle, int(room.width()))
        painter.drawText(QPointF(room.left(), _PAD + metrics.ascent()), name)
        base = self.height() - _PAD + metrics.ascent() - line + 2
        painter.drawText(QPointF(room.left(), base), self._ends[0])
        painter.drawText(QPointF(room.right() - metrics.horizontalAdvance(self._ends[1]), base), self._ends[1])
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(palette.accent))
        largest, width = max(self._counts, default=0) or 1, room.width() / max(1, len(self._counts))
        for number, count in enumerate(self._counts):
            height = max(room.height() * count / largest, 1.0 if count else 0.0)
            left = room.left() + number * width
            painter.drawRect(QRectF(left, room.bottom() - height, max(width - 1.0, 1.0), height))
