"""Cells of tables and lists that are painted: a run's status, a checkpoint, and the pill that both have."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from studio.panels.run_words import status_words
from studio.state.runs.checkpoint_list import CHECKPOINT_ROLE, FACTS_ROLE, epochs
from studio.state.runs.run_table import RUN_ROLE
from studio.theme import RADIUS, Tone, font, theme
from training.runs.records.manifest import CheckpointInfo

HEIGHT = 20.0


def paint_pill(painter: QPainter, position: QPointF, text: str, tone: Tone) -> float:
    """Paint a pill whose left center is ``position``; returns its width."""
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


_TONES: dict[str, Tone] = {"best": "success", "last": "info", "keep": "neutral"}
_MARGIN = 10


class CheckpointDelegate(QStyledItemDelegate):
    """Paints a CheckpointInfo."""

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        info: CheckpointInfo = index.data(CHECKPOINT_ROLE)
        palette = theme().palette
        rect = QRectF(option.rect).adjusted(2, 1, -2, -1)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        if selected or option.state & QStyle.StateFlag.State_MouseOver:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(palette.selection if selected else palette.hover))
            painter.drawRoundedRect(rect, RADIUS.medium, RADIUS.medium)
        inner = rect.adjusted(_MARGIN, 0, -_MARGIN, 0)
        upper = QRectF(inner.left(), rect.top() + 6, inner.width(), 22)
        face = font("body")
        face.setWeight(face.Weight.Medium)
        painter.setFont(face)
        painter.setPen(QColor(palette.text))
        title = f"Step {info.step:,}"
        painter.drawText(upper, Qt.AlignmentFlag.AlignVCenter, title)
        left = upper.left() + painter.fontMetrics().horizontalAdvance(title) + 10
        for label in info.labels:
            left += paint_pill(painter, QPointF(left, upper.center().y()), label, _TONES.get(label, "neutral")) + 5
        painter.setFont(font("caption"))
        painter.setPen(QColor(palette.muted))
        for words in epochs(info):
            if left + painter.fontMetrics().horizontalAdvance(words) <= upper.right():  # else the tool tip has them
                painter.drawText(upper, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, words)
        lower = QRectF(inner.left(), upper.bottom() + 1, inner.width(), 18)
        text = painter.fontMetrics().elidedText(index.data(FACTS_ROLE), Qt.TextElideMode.ElideRight, int(lower.width()))
        painter.drawText(lower, Qt.AlignmentFlag.AlignVCenter, text)
        painter.restore()

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(160, 56)


class StatusDelegate(QStyledItemDelegate):
    """Paints a run's status as a pill."""

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return super().sizeHint(option, index) + QSize(30, 0)  # the pill's ends

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        run = index.data(RUN_ROLE)
        bare = QStyleOptionViewItem(option)
        self.initStyleOption(bare, index)
        bare.text = ""
        style = bare.widget.style()
        style.drawControl(style.ControlElement.CE_ItemViewItem, bare, painter, bare.widget)
        if run is None:  # a group of runs
            painter.setPen(QColor(theme().palette.muted))
            painter.drawText(
                QRectF(option.rect).adjusted(10, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, str(index.data() or "")
            )
            return
        text, tone = status_words(run.status)
        paint_pill(painter, QPointF(option.rect.left() + 10, option.rect.center().y() + 0.5), text, tone)
