"""The names of classes, each beside a dot of its color, in one line."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.theme import font, theme

_MOST_NAMES = 8
_MOST_ROOM = 120
_MARKERS = (("Training", 2.5, False), ("Validation", 4.0, True))


def paint_names(painter: QPainter, names: Sequence[str], left: float, right: float, line: float) -> None:
    """Write as many as have room between ``left`` and ``right``, their middle at the height ``line``."""
    palette = theme().palette
    for number, name in enumerate(names[:_MOST_NAMES]):
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(palette.curve(number)))
        end = _paint_entry(painter, name, left, right, line, 4.0)
        if end is None:
            break
        left = end


def _paint_entry(painter: QPainter, name: str, left: float, right: float, line: float, radius: float) -> float | None:
    """A dot in the pen and brush that are set, and the name; returns where the next begins, None where there is no room."""
    metrics = painter.fontMetrics()
    shown = metrics.elidedText(name, Qt.TextElideMode.ElideRight, _MOST_ROOM)
    width = metrics.horizontalAdvance(shown)
    if left + 14 + width > right:
        return None
    painter.drawEllipse(QRectF(left + 4 - radius, line - radius, 2 * radius, 2 * radius))
    painter.setPen(QColor(theme().palette.muted))
    painter.drawText(QPointF(left + 14, line + metrics.ascent() / 2 - 1), shown)
    return left + 14 + width + 18


class PointLegend(QWidget):
    """How samples of the two parts are marked, and the colors of their classes."""

    def __init__(self) -> None:
        super().__init__()
        self._names: Sequence[str] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme().changed.connect(self.update)

    def set_names(self, names: Sequence[str]) -> None:
        """Show other classes."""
        self._names = tuple(names)
        self.setAccessibleName(f"Classes: {', '.join(self._names[:_MOST_NAMES])}")
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(200, 20)

    def paintEvent(self, event: QPaintEvent) -> None:
        palette, line = theme().palette, self.height() / 2
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(font("caption"))
        left = 0.0
        for name, radius, ringed in _MARKERS:
            painter.setPen(QColor(palette.text) if ringed else Qt.PenStyle.NoPen)
            painter.setBrush(Qt.BrushStyle.NoBrush if ringed else QColor(palette.text))
            left = _paint_entry(painter, name, left, self.width(), line, radius) or left
        paint_names(painter, self._names, left, self.width(), line)
