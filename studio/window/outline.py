"""What stands in a page's place until the page is there: the outline of its cards, so that nothing jumps or flashes."""

from __future__ import annotations

from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from studio.theme import RADIUS, SPACING, theme

_HEADER = 88  # pixels: the name of the run and the tabs, as on the Setup page
_FOOT = 57  # the bar with the Start button


class PageOutline(QWidget):
    """Painted by hand: it has to be there before anything worth building is imported."""

    def paintEvent(self, event: QPaintEvent) -> None:
        palette = theme().palette
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        line = QPen(QColor(palette.border))
        painter.setPen(line)
        painter.drawLine(0, _HEADER, self.width(), _HEADER)
        painter.setBrush(QColor(palette.surface))
        edge, gap = SPACING.l, SPACING.m
        top = _HEADER + edge + 0.5
        half = (self.width() - 2 * edge - gap) * 0.48
        height = self.height() - top - _FOOT - edge
        for left, width, share in ((edge, half, 0.75), (edge + half + gap, self.width() - 2 * edge - gap - half, 0.3)):
            painter.drawRoundedRect(QRectF(left + 0.5, top, width - 1, height * share), RADIUS.large, RADIUS.large)
        painter.drawRect(QRectF(-1, self.height() - _FOOT + 0.5, self.width() + 2, _FOOT + 1))
