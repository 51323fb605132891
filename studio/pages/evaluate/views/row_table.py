"""A short table of words in which a row is chosen."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QAbstractTableModel, QObject, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QHeaderView

from studio.theme import theme
from studio.widgets import ALIGN_LEFT, ALIGN_RIGHT, NO_PARENT, AnyIndex, ChoiceTable
from training.system.plain_table import Table

_ROW_HEIGHT = 26
_LEAST_HEIGHT = 150


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

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self.titles)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return ALIGN_RIGHT if index.column() in self._numbers else ALIGN_LEFT
        if role == Qt.ItemDataRole.ForegroundRole and index.row() in self.wrong:
            return QColor(theme().palette.danger)
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return self.rows[index.row()][index.column()]
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(self.titles):
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return ALIGN_RIGHT if section in self._numbers else ALIGN_LEFT
        return self.titles[section] if role == Qt.ItemDataRole.DisplayRole else None

    def tabulate(self) -> Table:
        """As it stands there."""
        return {title: [row[at] for row in self.rows] for at, title in enumerate(self.titles)}


class RowTable(ChoiceTable):
    """Shows a ``RowModel``."""

    def __init__(self, name: str, titles: Sequence[str], numbers: Sequence[int], rows: int | None = None) -> None:
        """``rows`` are in sight at a time; None: as many as there is room for."""
        super().__init__(name, _ROW_HEIGHT)
        self.rows = RowModel(titles, numbers, self)
        self.setModel(self.rows)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        if rows is None:
            self.setMinimumHeight(_LEAST_HEIGHT)
        else:
            self.setFixedHeight(rows * _ROW_HEIGHT + self.horizontalHeader().sizeHint().height() + 6)
