"""Cells of tables and lists that are painted: a run's status, a checkpoint, and the pill that both have."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from studio.panels.run_words import status_words
from studio.state.runs.checkpoint_list import BRANCH_ROLE, CHECKPOINT_ROLE, FACTS_ROLE, Branch, epochs
from studio.state.runs.run_table import RUN_ROLE
from studio.theme import RADIUS, Tone, font, icon, theme
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


_INDENT = 22
_BRANCH_HEIGHT = 34


class CheckpointDelegate(QStyledItemDelegate):
    """Paints a CheckpointInfo, or below it a Branch."""

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        info: CheckpointInfo | None = index.data(CHECKPOINT_ROLE)
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
        if info is None:
            _paint_branch(painter, inner, index.data(BRANCH_ROLE))
            painter.restore()
            return
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
        return QSize(160, 56 if index.data(BRANCH_ROLE) is None else _BRANCH_HEIGHT)


def _paint_branch(painter: QPainter, room: QRectF, branch: Branch) -> None:
    """Indented below its checkpoint, with the line that leads there; the run that this one comes from stands at the margin."""
    palette = theme().palette
    if not branch.is_parent:
        painter.setPen(QPen(QColor(palette.faint), 1.5))
        x, middle = room.left() + 6, room.center().y()
        painter.drawLine(QPointF(x, room.top() - 2), QPointF(x, middle))
        painter.drawLine(QPointF(x, middle), QPointF(x + 10, middle))
        room = room.adjusted(_INDENT, 0, 0, 0)
    side = 16
    mark = icon("branch", "muted").pixmap(side, side)
    painter.drawPixmap(QPointF(room.left(), room.center().y() - side / 2).toPoint(), mark)
    room = room.adjusted(side + 8, 0, 0, 0)
    painter.setFont(font("body"))
    painter.setPen(QColor(palette.text))
    words, tone = status_words(branch.status)
    text = painter.fontMetrics().elidedText(branch.words, Qt.TextElideMode.ElideRight, int(room.width()) - 110)
    painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, text)
    end = room.left() + painter.fontMetrics().horizontalAdvance(text) + 10
    paint_pill(painter, QPointF(end, room.center().y()), words, tone)


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
