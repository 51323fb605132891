"""A table of figures with their intervals, which stand below them where one line has no room for all columns."""

from __future__ import annotations

from typing import Protocol

from PySide6.QtCore import QAbstractItemModel
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHeaderView

from studio.widgets import ChoiceTable, fit_rows

_PAD = 9
"""Pixels above and below the words of a row, together."""
_SPARE = 4
_WIDEST_NAME = 220


class FigureModel(Protocol):
    """What a model of such a table has: whether figures stand above their intervals."""

    in_lines: bool


class FigureRows(ChoiceTable):
    """``model`` is a ``FigureModel``, too. Columns are as wide as what they hold when it is another table, not at each change of it."""

    def __init__(self, name: str, model: QAbstractItemModel, figures: FigureModel) -> None:
        super().__init__(name, 0)
        self._figures = figures
        self._needed = 0  # pixels in one line
        self._most = 1
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setResizeContentsPrecision(40)
        self.setModel(model)

    @property
    def row_height(self) -> int:
        """Pixels of a row in one line."""
        return self.fontMetrics().height() + _PAD

    def show_rows(self, most: int) -> None:
        """Be as high as the rows, ``most`` of them at a time in one line each."""
        self._most = most
        height = self.row_height + self._figures.in_lines * self.fontMetrics().height()
        self.verticalHeader().setDefaultSectionSize(height)
        fit_rows(self, max(most * self.row_height // height, 1))

    def fit_columns(self) -> None:
        """Other columns, or another width: find how they fit."""
        self._figures.in_lines = False
        self._needed = self._size_columns()
        self._choose_lines()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._needed and self._figures.in_lines != (self._needed > self.viewport().width()):
            self._choose_lines()

    def _choose_lines(self) -> None:
        self._figures.in_lines = self._needed > self.viewport().width()
        self._size_columns()
        self.show_rows(self._most)

    def _size_columns(self) -> int:
        self.resizeColumnsToContents()
        for column in range(self.model().columnCount()):
            width = self.columnWidth(column) + _SPARE
            self.setColumnWidth(column, min(width, _WIDEST_NAME) if not column else width)
        return sum(map(self.columnWidth, range(self.model().columnCount())))
