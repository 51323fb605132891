"""A table's first rows, with what each column holds and what it is for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from PySide6.QtCore import QAbstractTableModel, Qt
from PySide6.QtGui import QBrush, QColor, QResizeEvent
from PySide6.QtWidgets import QHeaderView, QTableView, QWidget

from studio.panels.data.engine_query import EngineQuery
from studio.panels.data.page_bar import PageBar
from studio.panels.data.sample_pages import SamplePages
from studio.theme import theme
from studio.widgets import ALIGN_LEFT, ALIGN_RIGHT, NO_PARENT, AnyIndex, Card, StatusPill, dress_table, let_grow
from training.errors import pluralize
from training.protocol.answers import Column, DatasetReport, SamplePage, TablePreview

_ROW_HEIGHT = 28
_LEAST_ROWS = 12
_WIDEST = 190
_FIGURES = ("float", "int")
_ABOUT = ("Role", "Type", "Values", "Missing")


class ColumnTable(QAbstractTableModel):
    """Above the rows of the file stand four that tell of its columns. What is predicted comes first."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._columns: Sequence[Column] = ()
        self._rows: Sequence[Sequence[str]] = ()
        self._numbers: Sequence[int] = ()  # of the rows in the file
        self._order: Sequence[int] = ()

    def replace(self, table: TablePreview, rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> None:
        """Show another table, as ``training.data.tables.table_preview`` has it, with its ``rows`` of these ``numbers`` in the file; none: the
        first ones."""
        columns = table.columns
        self.beginResetModel()
        # While the roles are being asked for, nothing moves.
        if any(column.role for column in columns) or len(columns) != len(self._order):
            self._order = sorted(range(len(columns)), key=lambda at: columns[at].role != "target")
        self._columns = [columns[at] for at in self._order]
        self._rows = [[row[at] for at in self._order] for row in rows]
        self._numbers = numbers or range(len(rows))
        self.endResetModel()

    def rowCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(_ABOUT) + len(self._rows)

    def columnCount(self, parent: AnyIndex = NO_PARENT) -> int:
        return 0 if parent.isValid() else len(self._columns)

    def data(self, index: AnyIndex, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        column, row = self._columns[index.column()], index.row()
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return _describe(column)[row] if row < len(_ABOUT) else self._rows[row - len(_ABOUT)][index.column()]
        if role == Qt.ItemDataRole.ForegroundRole:
            return _brush(_ink(column.role, about=row < len(_ABOUT)))
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
            return _ABOUT[section] if section < len(_ABOUT) else f"{self._numbers[section - len(_ABOUT)] + 1:,}"
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
        return palette.accent_text if role == "target" else palette.faint
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
    """Follows ``question`` and is there only while its dataset is a table; its rows have ``pages`` once its columns' roles are right."""

    def __init__(self, question: EngineQuery[DatasetReport], pages: SamplePages) -> None:
        super().__init__("Table", "list")
        self._question = question
        self._pages = pages
        self._shown: tuple[TablePreview, Sequence[Sequence[str]]] | None = None
        self.bar = PageBar(pages, "row", by_part=False)
        self.model = ColumnTable(self)
        self.view = ColumnView()
        self.view.setModel(self.model)
        self._count = StatusPill("", "neutral")
        self.add_action(self._count)
        self._dress()
        self.add(self.view, self.bar)
        question.changed.connect(self._update)
        pages.changed.connect(self._update)
        self._update()

    def _dress(self) -> None:
        view = self.view
        dress_table(view, "Rows of the table", _ROW_HEIGHT)
        view.setSelectionBehavior(QTableView.SelectionBehavior.SelectColumns)
        view.setHorizontalScrollMode(QTableView.ScrollMode.ScrollPerPixel)
        view.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header = view.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setResizeContentsPrecision(40)

    def _update(self) -> None:
        table, page = self._question.table, self._pages.page
        self.setVisible(table is not None)
        self.bar.setVisible(page is not None and (bool(page.rows) or bool(self._pages.shown.value)))
        if table is None:
            return
        rows, numbers = table.rows, tuple[int, ...]()
        if page is not None and self._is_of(page, table):
            rows, numbers = page.rows, page.numbers or tuple(range(page.offset, page.offset + len(page.rows)))
        before, self._shown = self._shown, (table, rows)
        if before is not None and before[0] is table and before[1] is rows:
            return
        self.model.replace(table, rows, numbers)
        self.view.fit_columns()
        if before is None or before[0] is not table:
            self._show_size(table)

    def _is_of(self, page: SamplePage, table: TablePreview) -> bool:
        """Whether ``page`` is not one of the table before this one."""
        if not page.rows:
            return bool(self._pages.shown.value or self._pages.shown.rows_of) and self._question.answer is not None
        return len(page.rows[0]) == len(table.columns)

    def _show_size(self, table: TablePreview) -> None:
        self._count.set_status(pluralize(table.column_count, "column"), "neutral")
        rows = self.model.rowCount()
        frame = self.view.horizontalHeader().sizeHint().height() + self.view.horizontalScrollBar().sizeHint().height()
        least, most = (count * _ROW_HEIGHT + frame + 6 for count in (min(rows, _LEAST_ROWS), rows))
        let_grow(self.view, least, most)
