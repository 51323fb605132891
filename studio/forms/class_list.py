"""The classes of a dataset with a check box each: which of them a run trains on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QBrush, QColor, QKeyEvent
from PySide6.QtWidgets import QHeaderView, QTreeWidget, QTreeWidgetItem, QWidget

from studio.theme import SPACING, set_property, theme
from studio.widgets import ALIGN_RIGHT, SearchLine, button, chain_tab_order, hand_keyboard_on, hbox, label, vbox
from training.config.sections.data.classes import NO_CLASS
from training.protocol.answers import ClassChoice

_MOST_ROWS = 8
_SEARCHED = 12  # more classes have a field to find one
_NAME, _SAMPLES = range(2)


class CheckList(QTreeWidget):
    """Rows of a name with a check box, and a number. A click anywhere in a row changes it, as Space and Enter do to the current one.

    Signals: `switched()` when the person has changed one.
    """

    switched = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setHeaderHidden(True)
        self.setColumnCount(2)
        self.setRootIsDecorated(False)
        self.setUniformRowHeights(True)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        header = self.header()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(_NAME, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(_SAMPLES, QHeaderView.ResizeMode.ResizeToContents)
        self.itemClicked.connect(self._switch)

    def add(self, name: str, text: str, tooltip: str, place: int) -> QTreeWidgetItem:
        """One more row, off."""
        item = QTreeWidgetItem([name, text])
        item.setData(_NAME, Qt.ItemDataRole.UserRole, name)
        item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable)  # its box is no second thing to click
        item.setCheckState(_NAME, Qt.CheckState.Unchecked)
        item.setTextAlignment(_SAMPLES, ALIGN_RIGHT)
        item.setForeground(_SAMPLES, QBrush(QColor(theme().palette.muted)))
        item.setToolTip(_NAME, tooltip)
        self.insertTopLevelItem(place, item)
        return item

    def items(self) -> Iterator[QTreeWidgetItem]:
        """All rows."""
        for row in range(self.topLevelItemCount()):
            item = self.topLevelItem(row)
            assert item is not None
            yield item

    def keyPressEvent(self, event: QKeyEvent) -> None:
        item = self.currentItem()
        if item is not None and event.key() in (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._switch(item)
        else:
            super().keyPressEvent(event)

    def _switch(self, item: QTreeWidgetItem) -> None:
        set_on(item, not is_on(item))
        self.switched.emit()


class ClassList(QWidget):
    """As high as its rows, up to ``most_rows``. Signals: `chosen()` when the person has changed what is kept."""

    chosen = Signal()

    def __init__(self, *, most_rows: int = _MOST_ROWS) -> None:
        super().__init__()
        self._most_rows = most_rows
        self._offered: tuple[ClassChoice, ...] = ()
        self.all_button = button(
            "All", variant="ghost", tooltip="Check all classes in the list", clicked=self._check_all
        )
        self.none_button = button(
            "None", variant="ghost", tooltip="Uncheck all classes in the list", clicked=self._uncheck_all
        )
        self.told = label("", "help")
        self.search = SearchLine("Find a class")
        self.view = CheckList()
        head = hbox(self.told, spacing=SPACING.xs)
        head.addStretch(1)
        head.addWidget(self.all_button)
        head.addWidget(self.none_button)
        vbox(head, self.search, self.view, parent=self, spacing=SPACING.xs)
        hand_keyboard_on(self, self.view)
        # Tab comes to the list first, to which the keyboard is handed on: what lies before it would be passed over.
        chain_tab_order([self.view, self.search, self.all_button, self.none_button])
        self.search.textChanged.connect(self._find)
        self.view.switched.connect(self._on_switched)

    def names(self) -> list[str]:
        """What the setting is: those that are on in the data's order, nothing where all are, and ``NO_CLASS`` where none is."""
        items = list(self.view.items())
        on = [_name(item) for item in items if is_on(item)]
        return [] if len(on) == len(items) else on or list(NO_CLASS)

    def offer(self, choices: Sequence[ClassChoice], names: Sequence[str]) -> None:
        """Show these classes, of which the setting ``names`` some. What it names beside them is shown first, to be switched off."""
        if tuple(choices) == self._offered:
            self.set_names(names)
            return
        self._offered = tuple(choices)
        scrolled = self.view.verticalScrollBar().value()
        current = self.view.currentItem()
        now = _name(current) if current is not None else ""
        self.view.clear()
        for place, choice in enumerate(self._offered):
            tooltip = f"{choice.name}: {choice.samples:,} samples in all parts"
            self.view.add(choice.name, f"{choice.samples:,}", tooltip, place)
        self.set_names(names)
        rows = min(max(self.view.topLevelItemCount(), 1), self._most_rows)
        self.view.setFixedHeight(rows * max(self.view.sizeHintForRow(0), 20) + 2 * self.view.frameWidth() + 2)
        self.search.setVisible(len(self._offered) > _SEARCHED)
        self._find(self.search.text())
        found = next((item for item in self.view.items() if _name(item) == now), self.view.topLevelItem(0))
        if found is not None:
            self.view.setCurrentItem(found)
        self.view.verticalScrollBar().setValue(scrolled)

    def set_names(self, names: Sequence[str]) -> None:
        """Check what the setting names."""
        known = {choice.name for choice in self._offered}
        strange = [name for name in dict.fromkeys(names) if name and name not in known]
        for item in list(self.view.items()):
            if _name(item) not in known:
                self.view.takeTopLevelItem(self.view.indexOfTopLevelItem(item))
        for place, name in enumerate(strange):
            item = self.view.add(name, "not in the data", f"The data has no class {name}", place)
            item.setForeground(_SAMPLES, QBrush(QColor(theme().palette.warning)))
        kept = frozenset(names)
        for item in self.view.items():
            set_on(item, not kept or _name(item) in kept)
        self._tell()

    def describe(self, name: str, description: str) -> None:
        """What a screen reader says."""
        self.view.setAccessibleName(name)
        self.view.setAccessibleDescription(description)
        self.search.setAccessibleName(f"Find: {name}")
        self.all_button.setAccessibleName(f"All: {name}")
        self.none_button.setAccessibleName(f"None: {name}")

    def set_invalid(self, invalid: bool) -> None:
        """Mark the list."""
        set_property(self.view, "invalid", invalid)

    def _find(self, text: str) -> None:
        for item in self.view.items():
            item.setHidden(text.strip().casefold() not in _name(item).casefold())

    def _check_all(self) -> None:
        self._set_shown(on=True)

    def _uncheck_all(self) -> None:
        self._set_shown(on=False)

    def _set_shown(self, *, on: bool) -> None:
        """All that the search leaves in the list."""
        for item in self.view.items():
            if not item.isHidden():
                set_on(item, on)
        self._on_switched()

    def _on_switched(self) -> None:
        self._tell()
        self.chosen.emit()

    def _tell(self) -> None:
        known = {choice.name for choice in self._offered}
        on = sum(is_on(item) and _name(item) in known for item in self.view.items())
        self.told.setText(f"{on:,} of {len(self._offered):,} classes")


def is_on(item: QTreeWidgetItem) -> bool:
    """Whether the box of a row is checked."""
    return item.checkState(_NAME) == Qt.CheckState.Checked


def set_on(item: QTreeWidgetItem, on: bool) -> None:
    """Check the box of a row, or uncheck it."""
    item.setCheckState(_NAME, Qt.CheckState.Checked if on else Qt.CheckState.Unchecked)


def _name(item: QTreeWidgetItem) -> str:
    return str(item.data(_NAME, Qt.ItemDataRole.UserRole))
