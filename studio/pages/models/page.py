"""The Models page: everything that was exported, of all runs."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHeaderView, QStackedLayout, QTableView, QWidget

from studio.pages.models.detail import ExportDetail
from studio.pages.models.table import EXPORT_ROLE, EXPORTED, ExportTable
from studio.state.context import AppContext
from studio.state.exports import Exported, Exports
from studio.theme import SPACING
from studio.widgets import EmptyState, SearchLine, hbox, in_widget, label, vbox
from studio.widgets.tables import dress_table
from training.errors import pluralize

_READING = ("Reading the exports …", "Everything that was exported of the runs in this workspace.")
_NOTHING = (
    "Nothing exported yet",
    "Export a checkpoint of a run: its file is listed here with its size, its latency and its proof.",
    "Show runs",
    "runs",
)
_ROW_HEIGHT = 36


class ModelsPage(QWidget):
    """Filter, sort, choose; then verify, try or find the file."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self.exports = Exports(context.library, context.background.make_other(), self)
        self.model = ExportTable(self)
        self.search = SearchLine("Filter exports", "Filter")
        self.count = label("", "caption")
        self.table = QTableView()
        self.table.setModel(self.model)
        dress_table(self.table, "Exports", _ROW_HEIGHT)
        self.table.verticalHeader().hide()
        self.table.setSelectionBehavior(QTableView.SelectionBehavior.SelectRows)
        self.table.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self.table.setHorizontalScrollMode(QTableView.ScrollMode.ScrollPerPixel)
        self.table.setSortingEnabled(True)
        self.table.sortByColumn(EXPORTED, Qt.SortOrder.DescendingOrder)
        self.table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.table.horizontalHeader().setStretchLastSection(True)
        self.detail = ExportDetail(context)
        self.detail.hide()
        self.empty = EmptyState("export", *_READING)
        top = hbox(label("Models", "title"), self.count, (self.search, 1))
        content = in_widget(vbox(top, (self.table, 1), self.detail, spacing=SPACING.m, margins=SPACING.l))
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self.empty)
        self._stack.addWidget(content)
        self._content = content
        self.search.textChanged.connect(self._on_filter)
        self.exports.changed.connect(self._show)
        self.exports.failed.connect(self._show)
        self.table.selectionModel().currentRowChanged.connect(self._on_chosen)
        self.detail.changed.connect(self.exports.refresh)
        self.empty.action_triggered.connect(lambda: context.show_page("runs"))
        context.library.refreshed.connect(self._on_refreshed)
        if context.library.loaded:
            self.exports.refresh()

    def find_chosen(self) -> Exported | None:
        """The export that is looked at."""
        each: Exported | None = self.table.currentIndex().data(EXPORT_ROLE)
        return each

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._on_refreshed()

    @Slot()
    def _on_refreshed(self) -> None:
        if self._context.library.loaded and (self.isVisible() or not self.exports.loaded):
            self.exports.refresh()

    @Slot()
    def _show(self) -> None:
        chosen, found = self.find_chosen(), self.exports.found
        if self.exports.problem:
            self.empty.set_content("warning", "The exports cannot be read", self.exports.problem)
        elif self.exports.loaded:
            self.empty.set_content("export", *_NOTHING)
        self._stack.setCurrentWidget(self._content if found else self.empty)
        self.model.show_exports(found)
        path = chosen.note.path if chosen else ""
        rows = range(self.model.rowCount())
        row = next((row for row in rows if self.model.index(row, 0).data(EXPORT_ROLE).note.path == path), 0)
        if rows:
            self.table.setCurrentIndex(self.model.index(row, 0))
        self._on_chosen()
        self._update_count()

    @Slot()
    def _on_filter(self) -> None:
        self.model.set_words(self.search.text())
        if self.find_chosen() is None and self.model.rowCount():
            self.table.setCurrentIndex(self.model.index(0, 0))
        self._on_chosen()
        self._update_count()

    def _update_count(self) -> None:
        shown, all_ = self.model.rowCount(), len(self.exports.found)
        self.count.setText(pluralize(all_, "export") if shown == all_ else f"{shown:,} of {pluralize(all_, 'export')}")

    @Slot()
    def _on_chosen(self) -> None:
        each = self.find_chosen()
        self.detail.setVisible(each is not None)
        if each is not None:
            same = [
                it
                for it in self.exports.found
                if (it.folder, it.note.checkpoint) == (each.folder, each.note.checkpoint)
            ]
            self.detail.show_export(each, same)
            QTimer.singleShot(0, self, self._show_chosen)  # once the table has the room that the detail leaves

    @Slot()
    def _show_chosen(self) -> None:
        self.table.scrollTo(self.table.currentIndex())
