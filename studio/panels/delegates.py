"""Cells of tables and lists that are painted: a run's status, and the pill that checkpoints have, too."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QWidget

from studio.panels.run_words import status_words
from studio.state.runs.run_table import RUN_ROLE
from studio.theme import Tone, font, theme

_HEIGHT = 20.0


def paint_pill(painter: QPainter, position: QPointF, text: str, tone: Tone) -> float:
    """Paint a pill whose left center is ``position``; returns its width."""
    face = font("caption")
    face.setWeight(face.Weight.Medium)
    metrics = QFontMetricsF(face)
    width, height = metrics.horizontalAdvance(text) + 16, max(_HEIGHT, metrics.height() + 2)
    box = QRectF(position.x(), position.y() - height / 2, width, height)
    palette = theme().palette
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(palette.tone_soft(tone)))
    painter.drawRoundedRect(box, height / 2, height / 2)
    painter.setFont(face)
    painter.setPen(QColor(palette.tone(tone)))
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
    painter.restore()
    return width


class PillDelegate(QStyledItemDelegate):
    """Paints a word as a pill: the one that ``find_words`` has for a cell, with its tone; where it has none, the cell's own text."""

    def __init__(
        self, find_words: Callable[[QModelIndex | QPersistentModelIndex], tuple[str, Tone] | None], parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._find_words = find_words

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return super().sizeHint(option, index) + QSize(30, 0)  # the pill's ends

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        words = self._find_words(index)
        bare = QStyleOptionViewItem(option)
        self.initStyleOption(bare, index)
        bare.text = ""
        style = bare.widget.style()
        style.drawControl(style.ControlElement.CE_ItemViewItem, bare, painter, bare.widget)
        if words is None:
            painter.setPen(QColor(theme().palette.muted))
            painter.drawText(
                QRectF(option.rect).adjusted(10, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, str(index.data() or "")
            )
            return
        paint_pill(painter, QPointF(option.rect.left() + 10, option.rect.center().y() + 0.5), *words)


class StatusDelegate(PillDelegate):
    """Paints a run's status as a pill; a group of runs has none."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(_find_status, parent)


def _find_status(index: QModelIndex | QPersistentModelIndex) -> tuple[str, Tone] | None:
    run = index.data(RUN_ROLE)
    return status_words(run.status) if run is not None else None
