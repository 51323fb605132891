"""A short table of words in which a row is chosen."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QColor, QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView

from studio.theme import theme
from studio.widgets import dress_table
from training.system.plain_table import Table

AnyIndex = QModelIndex | QPersistentModelIndex
_NO_PARENT = QModelIndex()
_ROW_HEIGHT = 26
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class RowModel(QAbstractTableModel):
    """``rows`` of texts below ``titles``; the columns in ``numbers`` stand at the right, the rows in ``wrong`` have the color of what
    is wrong."""

    def __init__(self, titles: Sequence[str], numbers: Sequence[int], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.titles = titles
        self.rows: Sequence[Sequence[str]] = ()
        self.wrong: frozenset[int] = frozenset()
        self._numbers = numbers

    def replace(self, rows: Sequence[Sequence[str]], wrong: frozenset[int] = frozenset()) -> None:
        """Show others."""
        self.beginResetModel()
        self.rows, self.wrong = rows, wrong
        self.endResetModel()

    def rowCount(self, parent: AnyIndex = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: AnyIndex = _NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.titles)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if index.column() in self._numbers else _LEFT
        if role == Qt.ItemDataRole.ForegroundRole and index.row() in self.wrong:
            return QColor(theme().palette.danger)
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return self.rows[index.row()][index.column()]
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(self.titles):
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if section in self._numbers else _LEFT
        return self.titles[section] if role == Qt.ItemDataRole.DisplayRole else None

    def tabulate(self) -> Table:
        """As it stands there."""
        return {title: [row[at] for row in self.rows] for at, title in enumerate(self.titles)}


class RowTable(QTableView):
    """Signals: `row_chosen(int)` when a row is clicked, or Enter pressed in it."""

    row_chosen = Signal(int)

    def __init__(self, name: str, titles: Sequence[str], numbers: Sequence[int], rows: int = 10) -> None:
        """``rows`` are in sight at a time."""
        super().__init__()
        self.rows = RowModel(titles, numbers, self)
        self.setModel(self.rows)
        dress_table(self, name, _ROW_HEIGHT)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.verticalHeader().hide()
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self.setFixedHeight(rows * _ROW_HEIGHT + self.horizontalHeader().sizeHint().height() + 6)
        self.clicked.connect(self._choose)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self._choose(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def _choose(self, index: QModelIndex) -> None:
        if index.isValid():
            self.row_chosen.emit(index.row())
