"""One checkpoint in a list: its step, its labels as pills, and below them what it is worth."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from studio.panels.pills import paint_pill
from studio.state.checkpoint_list import CHECKPOINT_ROLE, FACTS_ROLE, epochs
from studio.theme import RADIUS, Tone, font, theme
from training.runs.manifest import CheckpointInfo

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
