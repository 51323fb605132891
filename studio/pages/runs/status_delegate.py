"""The status column of the table of runs."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem

from studio.panels.pills import paint_pill
from studio.panels.run_words import status_words
from studio.state.run_table import RUN_ROLE


class StatusDelegate(QStyledItemDelegate):
    """Paints a run's status as a pill."""

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        run = index.data(RUN_ROLE)
        bare = QStyleOptionViewItem(option)
        self.initStyleOption(bare, index)
        bare.text = ""
        style = bare.widget.style()
        style.drawControl(style.ControlElement.CE_ItemViewItem, bare, painter, bare.widget)
        text, tone = status_words(run.status)
        paint_pill(painter, QPointF(option.rect.left() + 10, option.rect.center().y() + 0.5), text, tone)
