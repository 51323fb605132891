"""What can be done with any view of data: take along what it draws, and the table behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QCursor, QGuiApplication
from PySide6.QtWidgets import QMenu, QWidget

from studio.actions.saving import ask_for_place, save_file
from studio.panels.charts.chart_menu import encode_png, encode_svg
from studio.state.context import AppContext
from training.system.atomic import write_bytes
from training.system.plain_table import Table, format_csv, save_table, table_rows

Tables = Callable[[], Iterable[Table]]
"""Tables with the same columns, which follow each other."""
Command = tuple[str, Callable[[], object]]


class SaveMenu(QObject):
    """The menu of ``owner``; ``name`` says what its files are called, without a suffix. ``more`` are commands of its own."""

    def __init__(
        self,
        context: AppContext,
        owner: QWidget,
        name: Callable[[], str],
        drawing: QWidget | None = None,
        tabulate: Tables | None = None,
        more: Sequence[Command] = (),
    ) -> None:
        super().__init__(owner)
        self._context, self._owner, self._name = context, owner, name
        self._drawing, self._tabulate, self._more = drawing, tabulate, more

    @Slot()
    def open(self) -> None:
        """Show it where the mouse is, or below the button that was pressed."""
        menu = self.make()
        menu.aboutToHide.connect(menu.deleteLater)
        sender = self._owner.focusWidget()
        below = sender.mapToGlobal(sender.rect().bottomLeft()) if sender is not None else QCursor.pos()
        menu.popup(below)

    def make(self) -> QMenu:
        """The menu as it is now."""
        menu = QMenu(self._owner)
        if self._drawing is not None:
            menu.addAction("Copy image", self.copy_image)
            menu.addAction("Save as PNG …", lambda: self.save_image("png"))
            menu.addAction("Save as SVG …", lambda: self.save_image("svg"))
        if self._tabulate is not None:
            menu.addAction("Copy table", self.copy_table)
            menu.addAction("Save as CSV …", self.save_table)
        for words, run in self._more:
            menu.addAction(words, run)
        return menu

    def copy_image(self) -> None:
        """Put what is drawn on the clipboard."""
        assert self._drawing is not None
        QGuiApplication.clipboard().setPixmap(self._drawing.grab())
        self._context.notifier.notify("The chart is on the clipboard, as an image.", "success", subject="chart copied")

    def save_image(self, suffix: str) -> None:
        """Ask where to, and write what is drawn, as "png" or "svg"."""
        assert self._drawing is not None
        content = encode_png(self._drawing.grab()) if suffix == "png" else encode_svg(self._drawing)
        title, name = "Save the chart as an image", f"{self._name()}.{suffix}"
        if path := ask_for_place(self._owner, title, f"{suffix.upper()} image", name, suffix):
            save_file(self._context, lambda: write_bytes(path, content), path, "The chart was not saved")

    def copy_table(self) -> None:
        """Put the numbers on the clipboard, as a spreadsheet takes them."""
        assert self._tabulate is not None
        tables = list(self._tabulate())
        rows = [tuple(tables[0]), *(row for table in tables for row in table_rows(table))]
        # With tabs between the cells, which spreadsheets put into columns.
        QGuiApplication.clipboard().setText(format_csv(rows, "\t"))
        self._context.notifier.notify("The table is on the clipboard.", "success", subject="table copied")

    def save_table(self) -> None:
        """Ask where to, and write the numbers as CSV."""
        assert self._tabulate is not None
        tables = self._tabulate()
        if path := ask_for_place(self._owner, "Save the table", "Table", f"{self._name()}.csv", "csv"):
            save_file(self._context, lambda: save_table(path, tables), path, "The table was not saved")
