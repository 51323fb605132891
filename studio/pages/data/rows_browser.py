"""The rows of a table: of a part, or whose cell in a column is as somebody asks for it; those selected can be left out."""

from __future__ import annotations

from PySide6.QtCore import QSignalBlocker, QTimer, Slot
from PySide6.QtWidgets import QWidget

from studio.pages.data.exclude_bar import ExcludeBar, add_parts
from studio.pages.data.rows_table import RowsTable
from studio.panels.data.engine_query import EngineQuery
from studio.panels.data.sample_pages import SamplePages
from studio.theme import SPACING
from studio.widgets import ComboBox, SearchLine, flow_box, in_widget, label, vbox
from training.errors import pluralize
from training.protocol.answers import DatasetReport, TablePreview

_PAUSE = 400
_WIDEST = 260
_EXAMPLES = "5, >= 5, 2..8, != 3; a piece of a text, = text for the whole cell; missing for cells without a value (Enter to filter)"


class RowsBrowser(QWidget):
    """Asks ``pages`` for the rows that are wanted, and shows them with what each column holds."""

    def __init__(self, question: EngineQuery[DatasetReport], pages: SamplePages) -> None:
        super().__init__()
        self._question, self._pages = question, pages
        self._table: TablePreview | None = None
        self._report: DatasetReport | None = None
        self.part = ComboBox()
        self.part.setAccessibleName("Part of the data")
        self.column = ComboBox()
        self.column.setAccessibleName("Column to filter by")
        self.column.setMaximumWidth(_WIDEST)
        self.value = SearchLine("Value in that column", "Value: 5, >= 5, 2..8, text, missing")
        self.value.setToolTip(_EXAMPLES)
        self.value.setFixedWidth(260)
        self._typed = QTimer(self, singleShot=True, interval=_PAUSE)
        self._typed.timeout.connect(self._choose)
        self.part.activated.connect(self._choose)
        self.column.activated.connect(self._choose)
        self.value.textChanged.connect(lambda: self._typed.start())
        self.value.returnPressed.connect(self._choose)
        self.table = RowsTable(question, pages)
        self.bar = ExcludeBar("row", self.table.list_selected)
        self.bar.listen_to(self.table.view)
        self.table.selection_changed.connect(self._tell)
        self._choices = in_widget(flow_box(self.part, label("Where", "caption"), self.column, self.value))
        vbox(
            self._choices,
            self.bar,
            (self.table, 1),
            parent=self,
            spacing=SPACING.s,
            margins=(SPACING.l, SPACING.m, SPACING.l, SPACING.s),
        )
        pages.changed.connect(self._update)
        question.changed.connect(self._update)
        self._update()

    @Slot()
    def _choose(self) -> None:
        self._typed.stop()
        self._pages.choose_rows(
            self.part.currentData() or "", str(self.column.currentData() or ""), self.value.text().strip()
        )

    @Slot()
    def _update(self) -> None:
        table, report = self._question.table, self._question.answer
        if table is not None and table is not self._table:
            self._table = table
            self._offer_columns(table)
        if report is not None and report is not self._report:
            self._report = report
            self._offer_parts(report)
            if self._pages.wanted.value == "" and self.value.text():
                with QSignalBlocker(self.value):
                    self.value.clear()  # it was of other data
        self._choices.setEnabled(self._pages.ready)
        self._tell()

    @Slot()
    def _tell(self) -> None:
        pages = self._pages
        words = pluralize(pages.total, "row") if pages.page is not None and not pages.waiting else "Loading …"
        self.bar.follow(words, len(self.table.list_selected()), pages.shown.rows_of)

    def _offer_columns(self, table: TablePreview) -> None:
        before = self.column.currentData()
        with QSignalBlocker(self.column):
            self.column.clear()
            for column in table.columns:
                self.column.addItem(column.name, column.name)
            self.column.setCurrentIndex(max(self.column.findData(before), 0))

    def _offer_parts(self, report: DatasetReport) -> None:
        with QSignalBlocker(self.part):
            self.part.clear()
            self.part.addItem("All rows", "")
            add_parts(self.part, report)
            self.part.setCurrentIndex(max(self.part.findData(self._pages.wanted.rows_of), 0))
