"""How a table inside a card looks, how high it is, how its rows are sorted, and how one is chosen."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import (
    QAbstractTableModel,
    QItemSelectionModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSignalBlocker,
    Qt,
    Signal,
)
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractButton, QTableView

AnyIndex = QModelIndex | QPersistentModelIndex
NO_PARENT = QModelIndex()
ALIGN_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
ALIGN_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_EDGES = 6


def dress_table(view: QTableView, name: str, row_height: int) -> None:
    """Rows of ``row_height`` pixels without a grid, one line each; ``name`` is what screen readers say. Tab leaves it."""
    view.setProperty("flat", True)
    view.setAccessibleName(name)
    view.setShowGrid(False)
    view.setWordWrap(False)
    view.setTabKeyNavigation(False)
    for corner in view.findChildren(QAbstractButton):  # where its headers meet
        corner.setAccessibleName("Select all")
    view.verticalHeader().setDefaultSectionSize(row_height)
    view.horizontalHeader().setHighlightSections(False)


def fit_rows(view: QTableView, most: int) -> None:
    """Make a table as high as its rows, at least one and ``most`` at the most."""
    rows = min(max(view.model().rowCount(), 1), most)
    frame = view.horizontalHeader().sizeHint().height() + view.horizontalScrollBar().sizeHint().height()
    view.setFixedHeight(rows * view.verticalHeader().defaultSectionSize() + frame + _EDGES)


class ChoiceTable(QTableView):
    """Signals: `row_chosen(int)` when a row is clicked, or Enter or Space pressed in it."""

    row_chosen = Signal(int)

    def __init__(self, name: str, row_height: int) -> None:
        super().__init__()
        dress_table(self, name, row_height)
        self.setSelectionBehavior(QTableView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self.verticalHeader().hide()
        self.clicked.connect(self._choose)

    def mark(self, row: int | None) -> None:
        """Show ``row`` as the chosen one, or none."""
        chosen = self.selectionModel()
        with QSignalBlocker(chosen):
            chosen.clearSelection()
            if row is not None:
                how = QItemSelectionModel.SelectionFlag.Select | QItemSelectionModel.SelectionFlag.Rows
                chosen.select(self.model().index(row, 0), how)
        self.viewport().update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and index.isValid():
            self._choose(index)
        else:
            super().keyPressEvent(event)

    def _choose(self, index: QModelIndex) -> None:
        self.row_chosen.emit(index.row())


class SortedTable(QAbstractTableModel):
    """Base of a table of figures beside names: a click on a head sorts by it, what is not known at the end."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows: list[int] = []  # which one stands where
        self._sorted_by = -1, Qt.SortOrder.AscendingOrder

    def list_titles(self) -> Sequence[str]:
        """Of the columns."""
        raise NotImplementedError

    def describe(self, row: int, column: int) -> str:
        """What stands there, before anything is sorted."""
        raise NotImplementedError

    def has_figures(self, column: int) -> bool:
        """Whether there are figures in ``column``, not texts."""
        raise NotImplementedError

    def list_figures(self, column: int) -> Sequence[float | None]:
        """One for each row, before anything is sorted; None: not known."""
        raise NotImplementedError

    def arrange(self, count: int) -> None:
        """There are ``count`` rows now, sorted as those before."""
        (column, order), self.rows = self._sorted_by, list(range(count))
        if not 0 <= column < self.columnCount():
            return
        falling = order == Qt.SortOrder.DescendingOrder
        if self.has_figures(column):
            figures = self.list_figures(column)
            known = [math.inf if figure is None else (-figure if falling else figure) for figure in figures]
            self.rows.sort(key=known.__getitem__)
        else:
            self.rows.sort(key=lambda row: self.describe(row, column).lower(), reverse=falling)

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.list_titles())

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return ALIGN_RIGHT if self.has_figures(index.column()) else ALIGN_LEFT
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return self.describe(self.rows[index.row()], index.column())
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < self.columnCount():
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return ALIGN_RIGHT if self.has_figures(section) else ALIGN_LEFT
        return self.list_titles()[section] if role == Qt.ItemDataRole.DisplayRole else None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        self._sorted_by = column, order
        self.layoutAboutToBeChanged.emit()
        self.arrange(len(self.rows))
        self.layoutChanged.emit()
