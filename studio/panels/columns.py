"""A wide part and a side part: beside each other where there is room, else one below the other."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QSizePolicy, QWidget

from studio.theme import SPACING


class TwoColumns(QWidget):
    """Lays out ``main`` and ``side``; below ``narrow`` pixels of width ``side`` goes underneath."""

    def __init__(self, main: QWidget, side: QWidget, *, side_width: int = 290, narrow: int = 860) -> None:
        super().__init__()
        self._main = main
        self._side = side
        self._side_width = side_width
        self._narrow = narrow
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(SPACING.m)
        self._row.addWidget(main, 1)
        self._row.addWidget(side)
        side.setFixedWidth(side_width)
        side.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)

    def set_side_width(self, width: int) -> None:
        """Give ``side`` another width, for where it is beside ``main``."""
        self._side_width = width
        if self._row.direction() == QBoxLayout.Direction.LeftToRight:
            self._side.setFixedWidth(width)

    def minimumSizeHint(self) -> QSize:
        """As narrow as ``main``: asking for both beside each other would keep the width from ever falling below."""
        hint = super().minimumSizeHint()
        return QSize(min(hint.width(), self._main.minimumSizeHint().width()), hint.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        below = event.size().width() < self._narrow
        direction = QBoxLayout.Direction.TopToBottom if below else QBoxLayout.Direction.LeftToRight
        if self._row.direction() != direction:
            self._row.setDirection(direction)
            if below:
                self._side.setMinimumWidth(0)
                self._side.setMaximumWidth(16777215)  # Qt's "no limit"
                self._side.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
            else:
                self._side.setFixedWidth(self._side_width)
                self._side.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
