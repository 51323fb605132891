"""The tabs of a page: a bar, and below it one screen, built when it is first shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QStackedWidget, QTabBar, QWidget

from studio.theme import SPACING
from studio.widgets import hbox, separator, vbox


class TabEntry(NamedTuple):
    """One tab; ``help`` is the page of the help that tells of it."""

    key: str
    title: str
    help: str
    make: Callable[[], QWidget]


class Tabs(QWidget):
    """``beside`` stands in the bar's row, at its right; ``name`` is what a screen reader calls the bar."""

    def __init__(self, entries: Sequence[TabEntry], name: str, beside: QWidget) -> None:
        super().__init__()
        self._entries = {entry.key: entry for entry in entries}
        self._made: dict[str, QWidget] = {}
        self.bar = QTabBar()
        self.bar.setExpanding(False)
        self.bar.setDrawBase(False)
        self.bar.setElideMode(Qt.TextElideMode.ElideNone)
        self.bar.setUsesScrollButtons(False)
        self.bar.setAccessibleName(name)
        self.stack = QStackedWidget()
        for entry in entries:
            self.bar.setTabData(self.bar.addTab(entry.title), entry.key)
        beside.setMinimumWidth(1)  # where there is little room, it is cut, not the tabs
        row = hbox(self.bar, (beside, 1), spacing=0, margins=(SPACING.l, 0, SPACING.l, 0))
        vbox(row, separator(), (self.stack, 1), parent=self, spacing=0)
        self.bar.currentChanged.connect(self._on_changed)
        self._on_changed()

    def show_tab(self, key: str) -> QWidget:
        """Bring a tab to the front. Raises KeyError for one that there is not."""
        self.bar.setCurrentIndex(list(self._entries).index(self._entries[key].key))
        return self.front()

    def build(self, key: str) -> None:
        """Have a tab ready without showing it."""
        if key not in self._made:
            self._made[key] = self._entries[key].make()
            self.stack.addWidget(self._made[key])

    def current(self) -> str:
        """The key of the tab in front."""
        return str(self.bar.tabData(self.bar.currentIndex()))

    def front(self) -> QWidget:
        """The screen in front."""
        return self._made[self.current()]

    def help_topic(self) -> str:
        """The page of the help that tells of the tab in front."""
        return self._entries[self.current()].help

    @Slot()
    def _on_changed(self) -> None:
        self.build(self.current())
        self.stack.setCurrentWidget(self.front())
