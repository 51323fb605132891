"""The columns of a table: what each holds, what it is for, and what the program makes of it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QAbstractTableModel, Qt, Slot
from PySide6.QtGui import QBrush, QColor
from PySide6.QtWidgets import QHeaderView, QTableView, QWidget

from studio.panels.data.engine_query import EngineQuery
from studio.theme import SPACING, theme
from studio.widgets import ALIGN_RIGHT, NO_PARENT, AnyIndex, dress_table, label, vbox
from training.errors import pluralize
from training.protocol.answers import Column, DatasetReport, TablePreview

_HEADS = ("Column", "Role", "Type", "Missing", "Unique", "Range, or most frequent", "What becomes of it")
_WHAT = {
    "target": "what is learned",
    "feature": "a number, standardized",
    "categorical": "a code for each value",
    "ignored": "not read, as the settings say",
    "group": "its rows stay together in one part",
    "split": "says which part a row is in",
    "time": "the newest rows are held out",
    "query": "rows of one query are ranked together",
    "file": "the image of the row",
}
_RIGHT = (3, 4)
_ROW_HEIGHT = 28


class ColumnsModel(QAbstractTableModel):
    """A row for each column."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._columns: Sequence[Column] = ()
        self._rows = 0

    def replace(self, table: TablePreview) -> None:
        """Show another table."""
        self.beginResetModel()
        self._columns, self._rows = table.columns, table.row_count
        self.endResetModel()

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._columns)

    def columnCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(_HEADS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return _HEADS[section]
        return None

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        column = self._columns[index.row()]
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return describe_column(column, self._rows)[index.column()]
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column() in _RIGHT:
            return ALIGN_RIGHT
        if role == Qt.ItemDataRole.ForegroundRole:
            palette = theme().palette
            inks = {"target": palette.accent_text, "left out": palette.muted, "ignored": palette.muted}
            return QBrush(QColor(inks.get(column.role, palette.text)))
        return None


def describe_column(column: Column, rows: int) -> tuple[str, ...]:
    """What stands in its row."""
    missing = f"{column.missing:,} ({column.missing / rows:.1%})" if column.missing and rows else "none"
    distinct = "" if column.distinct is None else f"{column.distinct:,}"
    span = f"{column.low} to {column.high}" if column.low and column.high else column.frequent
    becomes = column.about or _WHAT.get(column.role, "")
    if column.role == "date" and column.about:
        becomes = f"becomes {column.about}"
    return column.name, column.role or "not known yet", column.holds, missing, distinct, span, becomes


class ColumnsTab(QWidget):
    """Follows ``question``."""

    def __init__(self, question: EngineQuery[DatasetReport]) -> None:
        super().__init__()
        self._question = question
        self._table: TablePreview | None = None
        self.told = label("", "help", wrap=True)
        self.model = ColumnsModel(self)
        self.view = QTableView()
        self.view.setModel(self.model)
        dress_table(self.view, "Columns of the table", _ROW_HEIGHT)
        self.view.verticalHeader().hide()
        self.view.setSelectionBehavior(QTableView.SelectionBehavior.SelectRows)
        header = self.view.horizontalHeader()
        header.setStretchLastSection(True)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        vbox(self.told, (self.view, 1), parent=self, spacing=SPACING.m, margins=SPACING.l)
        question.changed.connect(self._update)
        self._update()

    @Slot()
    def _update(self) -> None:
        table = self._question.table
        if table is None or table is self._table:
            return
        self._table = table
        self.model.replace(table)
        self.view.resizeColumnsToContents()
        left_out = sum(column.role == "left out" for column in table.columns)
        words = f"{pluralize(table.column_count, 'column')}, {pluralize(table.row_count, 'row')} looked at."
        if left_out:
            words += f" {pluralize(left_out, 'column')} left out by {'itself' if left_out == 1 else 'themselves'}; the last column of this table says why."
        if table.column_count > len(table.columns):
            words += f" The first {len(table.columns):,} are shown."
        self.told.setText(words)
