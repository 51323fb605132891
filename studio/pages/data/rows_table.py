"""The rows of a table, page by page: as many as there is room for, to be selected."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QTableView

from studio.panels.data.engine_query import EngineQuery
from studio.panels.data.page_bar import PageBar
from studio.panels.data.sample_pages import SamplePages
from studio.panels.data.table_card import ROW_HEIGHT, TableCard
from studio.widgets import Stretch
from training.protocol.answers import DatasetReport, SamplePage, TablePreview

_LEAST_ROWS = 4
_FULL = 1000  # against 1: the rows are as high as they may be before anything is left below


class RowsTable(TableCard):
    """Follows ``pages``, whose rows it has once the roles of the columns are right.

    Signals: `selection_changed()`.
    """

    selection_changed = Signal()

    def __init__(self, question: EngineQuery[DatasetReport], pages: SamplePages) -> None:
        self._pages = pages
        self.bar = PageBar(pages, "row", by_part=False)
        super().__init__(question, about=False)
        self.add(self.bar, Stretch(1))
        self.body.setStretchFactor(self.view, _FULL)
        self.view.setSelectionBehavior(QTableView.SelectionBehavior.SelectRows)
        self.view.setSelectionMode(QTableView.SelectionMode.ExtendedSelection)
        self.view.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.view.selectionModel().selectionChanged.connect(self.selection_changed)
        self.model.modelReset.connect(self.selection_changed)
        pages.changed.connect(self._update)
        self._update()

    def list_selected(self) -> list[int]:
        """The numbers in the file, from 0, of the rows that are selected."""
        return sorted(self.model.find_number(index.row()) for index in self.view.selectionModel().selectedRows())

    def _update(self) -> None:
        super()._update()
        page = self._pages.page
        self.bar.setVisible(page is not None and (bool(page.rows) or self._is_filtered()))

    def _find_rows(self, table: TablePreview) -> tuple[Sequence[Sequence[str]], Sequence[int]]:
        page = self._pages.page
        if page is None or not self._is_of(page, table):
            return super()._find_rows(table)
        return page.rows, page.numbers or range(page.offset, page.offset + len(page.rows))

    def _is_of(self, page: SamplePage, table: TablePreview) -> bool:
        """Whether ``page`` is not one of the table before this one."""
        if not page.rows:
            return self._is_filtered() and self._question.answer is not None
        return len(page.rows[0]) == len(table.columns)

    def _is_filtered(self) -> bool:
        return bool(self._pages.shown.value or self._pages.shown.rows_of)

    def _fit_height(self, rows: int, frame: int) -> None:
        self.view.setMinimumHeight(min(max(rows, 1), _LEAST_ROWS) * ROW_HEIGHT + frame)
        self.view.setMaximumHeight(max(rows, 1) * ROW_HEIGHT + frame)
