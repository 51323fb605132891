"""Choose a preset: what there is, when to use it, what memory it takes, and where its data is."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QDialog, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from studio.state.context import PRESET_PREFIX, AppContext
from studio.theme import SPACING
from studio.widgets import STRETCH, PathEdit, button, empty, hbox, label, vbox
from training.presets import PRESETS, Ask, Preset

_SIZE = (760, 526)
_LIST_WIDTH = 270
_ROW_ROOM = 12  # above and below a line of the list


class WholeRows(QListWidget):
    """A list that ends with a row, never with the upper half of one."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        below = self.viewportMargins().bottom()
        row = self.sizeHintForRow(0)
        rest = (self.viewport().height() + below) % row if row > 0 else 0
        if rest != below:
            self.setViewportMargins(0, 0, 0, rest)


class PresetDialog(QDialog):
    """A list of presets by group, and beside it what the marked one is. Accepted when one is to be used: ``chosen`` is it,
    ``paths`` what was given of what it asks for (in ``fields``, by setting)."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Presets")
        self.resize(*_SIZE)
        self.fields: dict[str, PathEdit] = {}
        self.list = WholeRows()
        self.list.setAccessibleName("Presets")
        self.list.setFixedWidth(_LIST_WIDTH)
        self.title = label("", "section", wrap=True)
        self.when = label("", wrap=True)
        self.memory = label("", "help", wrap=True)
        self._asks = QVBoxLayout()
        self._asks.setSpacing(SPACING.xs)
        self.use = button("Use preset", "check", "primary", clicked=self.accept)
        self.use.setDefault(True)
        self._fill()
        self._lay_out()
        self.list.currentItemChanged.connect(self._show)
        self.list.itemActivated.connect(self._on_activated)
        self.list.setCurrentRow(1)  # below the first group's name

    @property
    def chosen(self) -> Preset:
        """The preset that is marked."""
        row: Preset = self.list.currentItem().data(Qt.ItemDataRole.UserRole)
        return row

    @property
    def paths(self) -> dict[str, str]:
        """Dotted setting -> what was typed or picked for it; without those left empty."""
        return {setting: edit.path().strip() for setting, edit in self.fields.items() if edit.path().strip()}

    def _fill(self) -> None:
        group, room = "", QSize(0, self.fontMetrics().height() + _ROW_ROOM)
        for row in PRESETS:
            if row.group != group:
                group = row.group
                heading = QListWidgetItem(group)
                heading.setFlags(Qt.ItemFlag.NoItemFlags)
                heading.setSizeHint(room)
                self.list.addItem(heading)
            item = QListWidgetItem(f"   {row.title}")
            item.setSizeHint(room)
            item.setData(Qt.ItemDataRole.UserRole, row)
            item.setData(Qt.ItemDataRole.AccessibleTextRole, row.title)
            item.setData(Qt.ItemDataRole.AccessibleDescriptionRole, row.when)
            self.list.addItem(item)

    def _lay_out(self) -> None:
        cancel = button("Cancel", clicked=self.reject)
        ends = hbox(STRETCH, self.use, cancel)
        words = vbox(self.title, self.when, self.memory, self._asks, STRETCH)
        both = hbox(self.list, (words, 1), spacing=SPACING.l)
        vbox((both, 1), ends, parent=self, spacing=SPACING.m, margins=SPACING.l)

    @Slot()
    def _show(self) -> None:
        row = self.chosen
        self.title.setText(row.title)
        self.when.setText(row.when)
        self.memory.setText(f"Memory: {row.memory}.")
        empty(self._asks)
        self.fields.clear()
        for ask in row.asks:
            self._add_ask(ask)

    def _add_ask(self, ask: Ask) -> None:
        what = f"{ask.what[:1].upper()}{ask.what[1:]}"
        edit = PathEdit(ask.mode, title=what)
        edit.line_edit.setAccessibleName(what)
        edit.set_placeholder("can be chosen later, too")
        self._asks.addWidget(label(f"It needs {ask.what}:", "field", wrap=True))
        self._asks.addWidget(edit)
        self.fields[ask.setting] = edit

    @Slot(QListWidgetItem)
    def _on_activated(self, item: QListWidgetItem) -> None:
        if item.data(Qt.ItemDataRole.UserRole) is not None:
            self.accept()


def ask_for_preset(context: AppContext, parent: QWidget) -> bool:
    """Let the person choose a preset and put it into the forms, with the data they named; False when they did not."""
    dialog = PresetDialog(parent)
    wanted = dialog.exec() == QDialog.DialogCode.Accepted
    dialog.deleteLater()
    row = dialog.chosen
    if not wanted or not context.open_config(PRESET_PREFIX + row.name):
        return False
    # What was not named stays open: the file's own path stands for any.
    given = {ask.setting: dialog.paths.get(ask.setting, "") for ask in row.asks}
    if data := dialog.paths.get("dataset.path"):
        given["name"] = Path(data).stem[:80] or row.title  # several runs of a preset differ by their data
    context.draft.apply(given)
    return True
