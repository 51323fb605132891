"""A page whose first screen keeps its place, whatever appears below it."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QScrollArea, QWidget

from studio.theme import SPACING
from studio.widgets import scroll_area


class FirstScreen(QScrollArea):
    """Scrolls ``first``, which is as high as what is seen of the page, or higher, and ``below``, part by part."""

    def __init__(self, first: QWidget, *below: QWidget) -> None:
        super().__init__()
        content = QWidget()
        self._rows = QGridLayout(content)
        self._rows.setSpacing(SPACING.m)
        for row, part in enumerate((first, *below)):
            self._rows.addWidget(part, row, 0)
        scroll_area(content, "Charts", self)
        self.verticalScrollBar().rangeChanged.connect(self._keep_width)
        self._keep_width(0, 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._rows.setRowMinimumHeight(0, event.size().height() - SPACING.l - SPACING.m)

    @Slot(int, int)
    def _keep_width(self, _lowest: int, highest: int) -> None:
        """The scroll bar takes its room from the margin, not from the charts."""
        bar = self.verticalScrollBar().sizeHint().width() if highest else 0
        self._rows.setContentsMargins(SPACING.l, SPACING.l, max(SPACING.l - bar, 0), SPACING.m)
