"""What lies in the trash: bring it back, or delete it for good."""

from __future__ import annotations

import time
from collections.abc import Sequence

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QAbstractItemView, QDialog, QHeaderView, QTableWidget, QTableWidgetItem, QWidget

from studio.actions.question import Answer, ask
from studio.actions.runs import bring_back, complain_of_trash
from studio.state.context import AppContext
from studio.state.formats import format_ago
from studio.theme import SPACING
from studio.widgets import STRETCH, button, hbox, label, vbox
from training.errors import format_bytes, pluralize
from training.runs.trash import TrashedRun

_COLUMNS = ("Name", "Thrown away", "Size")


def describe_trash(trash: Sequence[TrashedRun]) -> str:
    """``3 items, 120 MB``"""
    return f"{pluralize(len(trash), 'item')}, {format_bytes(sum(run.size for run in trash))}"


class TrashDialog(QDialog):
    """Follows the library: what is restored or deleted leaves the list when that is done."""

    def __init__(self, context: AppContext, parent: QWidget) -> None:
        super().__init__(parent)
        self._context = context
        self.setWindowTitle("Trash")
        self.resize(560, 380)
        self._shown: tuple[TrashedRun, ...] = ()
        self._what = label("", "help", wrap=True)
        self.table = QTableWidget(0, len(_COLUMNS))
        self.table.setHorizontalHeaderLabels(_COLUMNS)
        self.table.setAccessibleName("What lies in the trash")
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.table.setShowGrid(False)
        self.table.verticalHeader().hide()
        header = self.table.horizontalHeader()
        header.setHighlightSections(False)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self.restore = button("Restore", "undo", clicked=self._restore)
        self.delete = button("Delete for good", "trash", "danger", clicked=self._delete)
        close = button("Close", clicked=self.accept)
        vbox(
            self._what,
            (self.table, 1),
            hbox(self.restore, self.delete, STRETCH, close),
            parent=self,
            spacing=SPACING.m,
            margins=SPACING.l,
        )
        self.finished.connect(self.deleteLater)  # else it would follow the library behind the window
        self.table.itemSelectionChanged.connect(self._update_buttons)
        context.library.refreshed.connect(self._fill)
        self._fill()

    def find_chosen(self) -> list[TrashedRun]:
        """The marked runs; all where none is marked."""
        rows = sorted({index.row() for index in self.table.selectedIndexes()})
        return [self._shown[row] for row in rows] or list(self._shown)

    @Slot()
    def _fill(self) -> None:
        trash = self._context.library.trash
        if trash != self._shown or not self.table.rowCount():
            self._shown = trash
            self.table.clearSelection()
            self.table.setRowCount(len(trash))
            for row, run in enumerate(trash):
                texts = (run.name, format_ago(run.thrown, time.time()), format_bytes(run.size))
                for column, text in enumerate(texts):
                    item = QTableWidgetItem(text)
                    item.setToolTip(run.folder.id if column == 0 else "")
                    self.table.setItem(row, column, item)
        self._what.setText(f"{describe_trash(trash)}." if trash else "The trash is empty.")
        self._update_buttons()

    @Slot()
    def _update_buttons(self) -> None:
        which = "" if self.table.selectedIndexes() else " all"
        self.restore.setText(f"Restore{which}")
        self.delete.setText(f"Delete{which} for good")
        for each in (self.restore, self.delete):
            each.setEnabled(bool(self._shown))

    @Slot()
    def _restore(self) -> None:
        bring_back(self._context, [run.folder for run in self.find_chosen()])

    @Slot()
    def _delete(self) -> None:
        chosen = self.find_chosen()
        title = f"Delete {describe_trash(chosen)}, for good?"
        if ask(self, title, "This cannot be undone.", (Answer("delete", "Delete", "danger"),)):
            self._context.library.delete_for_good(
                [run.folder for run in chosen], lambda error: complain_of_trash(self._context, error)
            )
