"""Presses buttons as a person does, and counts."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from studio.window.main_window import MainWindow

PATIENCE = 60_000  # milliseconds: a busy machine may need them


class Mouse:
    """``clicks``: how often it was pressed."""

    def __init__(self, qtbot: QtBot) -> None:
        self.clicks = 0
        self._qtbot = qtbot

    def press(self, parent: QWidget, text: str) -> None:
        """The visible button whose text begins with ``text``, once it can be pressed."""

        def find() -> QPushButton | None:
            for each in parent.findChildren(QPushButton):
                if each.text().startswith(text) and each.isVisible() and each.isEnabled():
                    return each
            return None

        self._qtbot.waitUntil(lambda: find() is not None, timeout=PATIENCE)
        found = find()
        assert found is not None
        self.click(found)

    def click(self, widget: QWidget) -> None:
        """The middle of ``widget``."""
        self.clicks += 1
        self._qtbot.mouseClick(widget, Qt.MouseButton.LeftButton)

    def choose(self, combo: QComboBox, at: int) -> None:
        """The list is opened, and its line ``at`` clicked."""
        self.clicks += 2
        combo.setCurrentIndex(at)

    def visit(self, window: MainWindow, page: str) -> None:
        """The page's place in the rail."""
        self.clicks += 1
        window.rail.current_changed.emit(page)
