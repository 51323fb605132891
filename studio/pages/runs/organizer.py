"""What can be done with the runs that are chosen in the table: by a menu, by keys, by a bar below it."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QPoint, Qt, Slot
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from studio.actions.files import reveal
from studio.actions.organize import archive_runs, ask_for_tags, delete_runs, rename_run, star_runs, untag_runs
from studio.pages.runs.table import RunsTable
from studio.state.context import AppContext
from studio.state.runs.run_library import RunSummary
from studio.state.runs.run_table import NAME, RunTableModel
from studio.widgets import STRETCH, button, hbox, label
from training.errors import pluralize


class Organizer(QWidget):
    """The bar; shown while runs are chosen."""

    def __init__(self, context: AppContext, table: RunsTable, model: RunTableModel) -> None:
        super().__init__()
        self._context, self._table = context, table
        self._count = label("", "caption")
        self.open = button("Open", "train", tooltip="Show this run on the Run page (Enter)", clicked=self._open)
        self.star = button("Star", "star", "ghost", clicked=lambda: star_runs(context, table.chosen_runs()))
        self.tag = button("Tag …", "tag", "ghost", clicked=lambda: ask_for_tags(context, self, table.chosen_runs()))
        self.archive = button("Archive", "save", "ghost", clicked=lambda: archive_runs(context, table.chosen_runs()))
        self.delete = button(
            "Delete", "trash", "ghost", tooltip="Move to the trash (Del); Undo brings it back", clicked=self._delete
        )
        hbox(self.open, self._count, STRETCH, self.star, self.tag, self.archive, self.delete, parent=self)
        self.hide()
        table.chosen_changed.connect(self._update)
        context.library.refreshed.connect(self._update)
        table.star_clicked.connect(lambda run: star_runs(context, [run]))
        table.delete_asked.connect(self._delete)
        table.menu_asked.connect(self._open_menu)
        model.renamed.connect(lambda run, name: rename_run(context, run, name))

    @Slot()
    def _update(self) -> None:
        chosen = self._table.chosen_runs()
        self.setVisible(bool(chosen))
        self.open.setVisible(len(chosen) == 1)
        self._count.setText(
            f"{len(chosen):,} selected" if len(chosen) > 1 else "Select more with Ctrl or Shift to compare them"
        )
        self.star.setText(_star_word(chosen))
        self.archive.setText(_archive_word(chosen))

    @Slot()
    def _open(self) -> None:
        self._table.open_asked.emit(self._table.chosen_runs()[0].folder)

    @Slot()
    def _delete(self) -> None:
        chosen = self._table.chosen_runs()
        if chosen:
            self._table.setFocus(Qt.FocusReason.OtherFocusReason)  # the button is about to go
            delete_runs(self._context, chosen)

    @Slot(QPoint)
    def _open_menu(self, place: QPoint) -> None:
        menu = self.make_menu()
        if menu is not None:
            menu.popup(self._table.viewport().mapToGlobal(place))

    def make_menu(self) -> QMenu | None:
        """The menu of the runs that are chosen; None where there are none."""
        chosen, context = self._table.chosen_runs(), self._context
        if not chosen:
            return None
        menu = QMenu(self._table)
        menu.setAccessibleName(f"{pluralize(len(chosen), 'run')} selected")
        if len(chosen) == 1:
            menu.addAction("Open", self._open).setShortcut(QKeySequence("Return"))
            rename = menu.addAction("Rename", self._rename)
            rename.setShortcut(QKeySequence("F2"))
        menu.addAction(_star_word(chosen), lambda: star_runs(context, chosen))
        menu.addAction("Add tags …", lambda: ask_for_tags(context, self._table, chosen))
        tags = dict.fromkeys(tag for run in chosen for tag in run.about.tags)
        if tags:
            remove = menu.addMenu("Remove tag")
            for tag in tags:
                remove.addAction(tag.replace("&", "&&"), partial(untag_runs, context, chosen, tag))
        menu.addAction(_archive_word(chosen), lambda: archive_runs(context, chosen))
        menu.addSeparator()
        if len(chosen) == 1:
            menu.addAction("Open folder", lambda: reveal(chosen[0].folder.path))
        delete = menu.addAction("Delete", lambda: delete_runs(context, chosen))
        delete.setShortcut(QKeySequence("Del"))
        return menu

    def _rename(self) -> None:
        rows = self._table.selectionModel().selectedRows()
        if rows:
            self._table.edit(rows[0].siblingAtColumn(NAME))


def _star_word(runs: list[RunSummary]) -> str:
    return "Remove star" if runs and all(run.about.star for run in runs) else "Star"


def _archive_word(runs: list[RunSummary]) -> str:
    return "Unarchive" if runs and all(run.about.archived for run in runs) else "Archive"
