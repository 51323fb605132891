"""What painted charts have in common: the ground they stand on, and the line around the one that has the keyboard."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPen
from PySide6.QtWidgets import QWidget

from studio.theme import RADIUS, theme


def paint_ground(painter: QPainter, chart: QWidget) -> None:
    """Smooth edges from here on, no pen and no brush."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme().palette.sunken))
    painter.drawRoundedRect(chart.rect(), RADIUS.medium, RADIUS.medium)
    painter.setBrush(Qt.BrushStyle.NoBrush)


def paint_focus(painter: QPainter, chart: QWidget) -> None:
    """A dotted line, where ``chart`` has the keyboard."""
    if chart.hasFocus():
        painter.setPen(QPen(QColor(theme().palette.accent), 1.5, Qt.PenStyle.DotLine))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRect(QRectF(chart.rect()).adjusted(1, 1, -1, -1))
