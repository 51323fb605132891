"""How a table inside a card looks, how high it is, and how a row of it is chosen."""

from __future__ import annotations

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QPersistentModelIndex, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QTableView

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
