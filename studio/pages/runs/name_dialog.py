"""A dialog to choose some of very many names: columns of the table of runs, settings to group by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QDialog, QListWidget, QListWidgetItem, QWidget

from studio.state.search import holds, split_query
from studio.theme import SPACING
from studio.widgets import STRETCH, SearchLine, button, fill, hbox, label, vbox


class NameDialog(QDialog):
    """``chosen`` are the names that are checked; those that were come first."""

    def __init__(self, parent: QWidget, title: str, text: str, names: Iterable[str], chosen: Sequence[str]) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setModal(True)
        self.resize(440, 520)
        self.search = SearchLine("Search names", "Search")
        self.list = QListWidget()
        self.list.setAccessibleName(title)
        for name in dict.fromkeys([*chosen, *names]):
            item = QListWidgetItem(name, self.list)
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            item.setCheckState(Qt.CheckState.Checked if name in chosen else Qt.CheckState.Unchecked)
        self.done_button = button("Done", variant="primary", clicked=self.accept)
        self.done_button.setDefault(True)
        column = vbox(parent=self, margins=SPACING.l)
        fill(column, label(title, "section"), label(text, "help", wrap=True), self.search, (self.list, 1))
        fill(column, hbox(STRETCH, self.done_button, button("Cancel", clicked=self.reject)))
        self.search.textChanged.connect(self._find)
        self.list.itemActivated.connect(self._turn)

    @property
    def chosen(self) -> list[str]:
        """The names that are checked, in the order of the list."""
        items = (self.list.item(row) for row in range(self.list.count()))
        return [item.text() for item in items if item.checkState() == Qt.CheckState.Checked]

    @Slot(str)
    def _find(self, text: str) -> None:
        words = split_query(text)
        for row in range(self.list.count()):
            item = self.list.item(row)
            item.setHidden(not holds(item.text(), words))

    @Slot(QListWidgetItem)
    def _turn(self, item: QListWidgetItem) -> None:
        checked = item.checkState() == Qt.CheckState.Checked
        item.setCheckState(Qt.CheckState.Unchecked if checked else Qt.CheckState.Checked)


def choose_names(
    parent: QWidget, title: str, text: str, names: Iterable[str], chosen: Sequence[str]
) -> list[str] | None:
    """The names that a person chose; None where they turned away."""
    dialog = NameDialog(parent, title, text, names, chosen)
    wanted = dialog.exec() == QDialog.DialogCode.Accepted
    dialog.deleteLater()
    return dialog.chosen if wanted else None
