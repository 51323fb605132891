"""A word on a tint, painted inside a table or list cell."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter

from studio.theme import Tone, font, theme

HEIGHT = 20.0


def paint_pill(painter: QPainter, position: QPointF, text: str, tone: Tone) -> float:
    """Paint a pill whose left centre is ``position``; returns its width."""
    face = font("caption")
    face.setWeight(face.Weight.Medium)
    width = QFontMetricsF(face).horizontalAdvance(text) + 16
    box = QRectF(position.x(), position.y() - HEIGHT / 2, width, HEIGHT)
    palette = theme().palette
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(palette.tone_soft(tone)))
    painter.drawRoundedRect(box, HEIGHT / 2, HEIGHT / 2)
    painter.setFont(face)
    painter.setPen(QColor(palette.tone(tone)))
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
    painter.restore()
    return width
