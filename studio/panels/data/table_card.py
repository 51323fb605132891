"""A table's first rows, with what each column holds and what it is for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from PySide6.QtCore import QAbstractTableModel, Qt
from PySide6.QtGui import QBrush, QColor, QResizeEvent
from PySide6.QtWidgets import QHeaderView, QTableView, QWidget

from studio.panels.data.engine_query import EngineQuery
from studio.theme import theme
from studio.widgets import ALIGN_LEFT, ALIGN_RIGHT, NO_PARENT, AnyIndex, Card, StatusPill, dress_table, let_grow
from training.errors import pluralize
from training.protocol.answers import Column, DatasetReport, TablePreview

ROW_HEIGHT = 28
_LEAST_ROWS, _FIRST_ROWS = 8, 16
_WIDEST = 190
_FIGURES = ("float", "int")
_ABOUT = ("Role", "Type", "Values", "Missing")


class ColumnTable(QAbstractTableModel):
    """Above the rows of the file stand, where ``about``, four that tell of its columns. What is predicted comes first."""

    def __init__(self, parent: QWidget | None = None, *, about: bool = True) -> None:
        super().__init__(parent)
        self._about = _ABOUT if about else ()
        self._columns: Sequence[Column] = ()
        self._rows: Sequence[Sequence[str]] = ()
        self._numbers: Sequence[int] = ()  # of the rows in the file
        self._order: Sequence[int] = ()

    def replace(self, table: TablePreview, rows: Sequence[Sequence[str]], numbers: Sequence[int]) -> None:
        """Show another table, as ``training.data.tables.table_preview`` has it, with its ``rows`` of these ``numbers`` in the file."""
        columns = table.columns
        self.beginResetModel()
        # While the roles are being asked for, nothing moves.
        if any(column.role for column in columns) or len(columns) != len(self._order):
            self._order = sorted(range(len(columns)), key=lambda at: columns[at].role != "target")
        self._columns = [columns[at] for at in self._order]
        self._rows = [[row[at] for at in self._order] for row in rows]
        self._numbers = numbers
        self.endResetModel()

    def find_number(self, row: int) -> int:
        """Which row of the file, from 0, stands in ``row``."""
        return self._numbers[row - len(self._about)]

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._about) + len(self._rows)

    def columnCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._columns)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        column, row = self._columns[index.column()], index.row()
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            at = row - len(self._about)
            return _describe(column)[row] if at < 0 else self._rows[at][index.column()]
        if role == Qt.ItemDataRole.ForegroundRole:
            return _brush(_ink(column.role, about=row < len(self._about)))
        if role == Qt.ItemDataRole.BackgroundRole and column.role == "target":
            return _brush(theme().palette.accent_soft)
        if role == Qt.ItemDataRole.TextAlignmentRole and column.holds in _FIGURES:
            return ALIGN_RIGHT
        return None

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if role == Qt.ItemDataRole.TextAlignmentRole and orientation == Qt.Orientation.Horizontal:
            return ALIGN_RIGHT if self._columns[section].holds in _FIGURES else ALIGN_LEFT
        if role == Qt.ItemDataRole.DisplayRole:
            if orientation == Qt.Orientation.Horizontal:
                return self._columns[section].name
            return self._about[section] if section < len(self._about) else f"{self.find_number(section) + 1:,}"
        if role == Qt.ItemDataRole.ToolTipRole and orientation == Qt.Orientation.Horizontal:
            column = self._columns[section]
            return f"{column.name}: {', '.join(filter(None, _describe(column)[:3]))}"
        return None


def _describe(column: Column) -> tuple[str, str, str, str]:
    """What stands in the rows ``_ABOUT``."""
    distinct = "" if column.distinct is None else f"{column.distinct:,} unique"
    role = f"{column.role}: {column.about}" if column.about else column.role
    return role, column.holds, distinct, f"{column.missing:,}" if column.missing else "none"


def _ink(role: str, about: bool) -> str:
    palette = theme().palette
    if role in ("target", "ignored", "left out"):
        return palette.accent_text if role == "target" else palette.muted
    return palette.muted if about else palette.text


def _brush(color: str) -> QBrush:
    return QBrush(QColor(color))


class ColumnView(QTableView):
    """As many whole columns as there is room for; what is left over widens them, so that the last ends at the edge."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit_columns()

    def fit_columns(self) -> None:
        """Give each column the width of what it holds, and share out the rest."""
        header, room = self.horizontalHeader(), self.viewport().width()
        widths = []
        for column in range(header.count()):
            needed = max(self.sizeHintForColumn(column), header.sectionSizeHint(column))
            widths.append(min(needed + 1, _WIDEST))  # one for the line that is not drawn
        whole = sum(reached <= room for reached in accumulate(widths))
        if whole:
            spare, odd = divmod(room - sum(widths[:whole]), whole)
            for column in range(whole):
                widths[column] += spare + (column < odd)
        for column, width in enumerate(widths):
            header.resizeSection(column, width)


class TableCard(Card):
    """Follows ``question`` and is there only while its dataset is a table: the first rows below what their columns are (``about``).
    ``action`` stands at the right of its title."""

    def __init__(
        self, question: EngineQuery[DatasetReport], action: QWidget | None = None, *, about: bool = True
    ) -> None:
        super().__init__("Table", "list")
        self._question = question
        self._shown: tuple[TablePreview, Sequence[Sequence[str]]] | None = None
        self.model = ColumnTable(self, about=about)
        self.view = ColumnView()
        self.view.setModel(self.model)
        self._count = StatusPill("", "neutral")
        self.add_action(self._count, *((action,) if action is not None else ()))
        self._dress()
        self.add(self.view)
        question.changed.connect(self._update)
        self._update()

    def _dress(self) -> None:
        view = self.view
        dress_table(view, "Rows of the table", ROW_HEIGHT)
        view.setSelectionBehavior(QTableView.SelectionBehavior.SelectColumns)
        view.setHorizontalScrollMode(QTableView.ScrollMode.ScrollPerPixel)
        view.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header = view.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setResizeContentsPrecision(40)

    def _update(self) -> None:
        table = self._question.table
        self.setVisible(table is not None)
        if table is None:
            return
        rows, numbers = self._find_rows(table)
        before, self._shown = self._shown, (table, rows)
        if before is not None and before[0] is table and before[1] == rows:
            return
        self.model.replace(table, rows, numbers)
        self.view.fit_columns()
        self._count.set_status(pluralize(table.column_count, "column"), "neutral")
        frame = self.view.horizontalHeader().sizeHint().height() + self.view.horizontalScrollBar().sizeHint().height()
        self._fit_height(self.model.rowCount(), frame + 6)

    def _find_rows(self, table: TablePreview) -> tuple[Sequence[Sequence[str]], Sequence[int]]:
        """What is shown, and its numbers in the file."""
        rows = table.rows[:_FIRST_ROWS]
        return rows, range(len(rows))

    def _fit_height(self, rows: int, frame: int) -> None:
        """For as many rows, with ``frame`` pixels around them."""
        least, most = (count * ROW_HEIGHT + frame for count in (min(rows, _LEAST_ROWS), rows))
        let_grow(self.view, least, most)
