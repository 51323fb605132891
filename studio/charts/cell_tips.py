"""A widget of cells that tells in a tool tip what the one under the mouse holds."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QPointF
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QToolTip, QWidget

from studio.widgets import wrap_tooltip


class CellTips(QWidget):
    """Base of widgets that paint their cells themselves."""

    def words_at(self, position: QPointF) -> str:
        """What the cell there tells; "" outside of all."""
        raise NotImplementedError

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            words = self.words_at(QPointF(event.pos()))
            QToolTip.showText(event.globalPos(), wrap_tooltip(words) if words else "", self)
            return True
        return super().event(event)
