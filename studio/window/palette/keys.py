"""Ctrl+K opens the palette from inside a text field, too, where Qt takes these keys for "delete to the end of the line"."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication, QWidget


class PaletteKeys(QObject):
    """Leaves the keys to the window's command; listens to the widget with the keyboard only, as a filter of all events costs time."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._follow)
        self._follow(None, app.focusWidget())

    @Slot(QWidget, QWidget)
    def _follow(self, before: QWidget | None, now: QWidget | None) -> None:
        if before is not None:
            before.removeEventFilter(self)
        if now is not None:
            now.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.ShortcutOverride or not isinstance(event, QKeyEvent):
            return False
        if event.key() != Qt.Key.Key_K or event.modifiers() != Qt.KeyboardModifier.ControlModifier:
            return False
        event.ignore()
        return True
