"""A table of words and figures that is shown, copied and saved as it stands."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QHeaderView

from studio.widgets import ALIGN_LEFT, ALIGN_RIGHT, ChoiceTable
from training.system.plain_table import Cell, Table

_ROW = 30
_WIDEST = 340


class TextTable(ChoiceTable):
    """The first column are names; figures stand at the right of theirs."""

    def __init__(self, name: str) -> None:
        super().__init__(name, _ROW)
        self._table: dict[str, Sequence[Cell]] = {}
        self._titles: Sequence[str] = ()
        self._breaks = False  # titles take two lines
        self.setModel(QStandardItemModel(self))
        self.setEditTriggers(ChoiceTable.EditTrigger.NoEditTriggers)
        self.setHorizontalScrollMode(ChoiceTable.ScrollMode.ScrollPerPixel)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Interactive)

    def show_rows(self, titles: Sequence[str], rows: Sequence[Sequence[str]], tips: Sequence[str] = ()) -> None:
        """Cells as texts, each row as long as ``titles``, which are what a saved table says, too."""
        model = self.model()
        assert isinstance(model, QStandardItemModel)
        model.clear()
        model.setHorizontalHeaderLabels(list(titles))
        for at, row in enumerate(rows):
            items = [QStandardItem(text) for text in row]
            for item in items[1:]:
                item.setTextAlignment(ALIGN_RIGHT)
            for item in items:
                item.setToolTip(tips[at] if tips else item.text())
            model.appendRow(items)
        for column in range(len(titles)):
            align = ALIGN_LEFT if column == 0 else ALIGN_RIGHT
            model.setHeaderData(column, Qt.Orientation.Horizontal, align, Qt.ItemDataRole.TextAlignmentRole)
            model.setHeaderData(column, Qt.Orientation.Horizontal, titles[column], Qt.ItemDataRole.ToolTipRole)
        self._titles = titles
        self._fit_titles(False)
        if self.horizontalHeader().length() > self.viewport().width():
            self._fit_titles(True)
        unique = [title if titles.index(title) == at else f"{title} ({at + 1})" for at, title in enumerate(titles)]
        self._table = {title: [row[at] for row in rows] for at, title in enumerate(unique)}

    def _fit_titles(self, breaks: bool) -> None:
        """Make columns as wide as what they hold, with long titles in two lines where ``breaks``."""
        self._breaks = breaks
        for column, title in enumerate(self._titles):
            text = _break(title) if breaks and column else title
            self.model().setHeaderData(column, Qt.Orientation.Horizontal, text)
        self.resizeColumnsToContents()
        for column in range(len(self._titles)):
            self.setColumnWidth(column, min(self.columnWidth(column) + 12, _WIDEST))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._titles and not self._breaks and self.horizontalHeader().length() > self.viewport().width():
            self._fit_titles(True)

    def tabulate(self) -> Table:
        """What it shows."""
        return self._table


def _break(title: str) -> str:
    """``title`` with a line break at the space nearest to its middle."""
    spaces = [at for at, letter in enumerate(title) if letter == " "]
    if not spaces:
        return title
    at = min(spaces, key=lambda space: abs(space - len(title) / 2))
    return f"{title[:at]}\n{title[at + 1 :]}"
