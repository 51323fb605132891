"""An icon in the desktop's tray, where the person chose one."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from PySide6.QtCore import QObject, QTimer, Slot
from PySide6.QtGui import QAction, QIcon
from PySide6.QtWidgets import QMenu, QSystemTrayIcon, QWidget

from studio import identity
from studio.state.context import AppContext
from studio.state.runs.live_run import percent_of
from studio.window.door import bring_to_front

_COMMANDS = ("pause", "stop")
_LOOK_MS = 5000
"""Between two looks whether the tray that holds the window is still there: a panel may be restarted without one."""


def has_tray() -> bool:
    """Whether this desktop has one now."""
    return QSystemTrayIcon.isSystemTrayAvailable()


class Tray(QObject):
    """Tells how far the run is, and brings the window back that was closed into it."""

    def __init__(self, context: AppContext, window: QWidget, actions: Mapping[str, QAction]) -> None:
        super().__init__(window)
        self._context, self._window, self._actions = context, window, actions
        self.icon: QSystemTrayIcon | None = None
        self._menu: QMenu | None = None  # most people never choose it
        self._guard = QTimer(self, interval=_LOOK_MS)
        self._guard.timeout.connect(self.look)
        context.settings.changed.connect(self._follow)
        for changed in (context.live.state_changed, context.live.progress_changed):
            changed.connect(self._tell)
        self._follow()

    @property
    def takes_window(self) -> bool:
        """Whether a closed window is left in it: not where the desktop has none any more."""
        return self.icon is not None and has_tray()

    def take_window(self) -> None:
        """Leave the window in it."""
        self._window.hide()
        self._guard.start()

    @Slot()
    def look(self) -> None:
        """Bring the window back where there is no tray any more that could."""
        if self._window.isVisible():
            self._guard.stop()
        elif not self.takes_window:
            self._show_window()

    @Slot()
    def _follow(self) -> None:
        is_chosen = self._context.settings.get().tray
        if is_chosen and self.icon is None:
            self.icon = QSystemTrayIcon(QIcon(str(identity.APP_ICON)), self)
            self._menu = self._menu or self._make_menu()
            self.icon.setContextMenu(self._menu)
            self.icon.activated.connect(self._on_activated)
            self._tell()
            self.icon.show()
        elif not is_chosen and self.icon is not None:
            self.icon.hide()
            self.icon.deleteLater()
            self.icon = None

    def _make_menu(self) -> QMenu:
        menu = QMenu(self._window)
        menu.addAction(f"Show {identity.APP_NAME}", self._show_window)
        menu.addActions([self._actions[name] for name in _COMMANDS])
        menu.addSeparator()
        menu.addAction(self._actions["quit"])
        return menu

    @Slot()
    def _tell(self) -> None:
        if self.icon is None:
            return
        live = self._context.live
        percent = percent_of(live)
        share = "" if percent is None else f" {percent}%"
        words = f"{identity.APP_NAME} · “{live.name}”{share}" if live.live else identity.APP_NAME
        if words != self.icon.toolTip():  # each is a message to the desktop
            self.icon.setToolTip(words)

    @Slot(QSystemTrayIcon.ActivationReason)
    def _on_activated(self, reason: QSystemTrayIcon.ActivationReason) -> None:
        opens_menu = reason is QSystemTrayIcon.ActivationReason.Context or sys.platform == "darwin"
        if not opens_menu:
            self._show_window()

    @Slot()
    def _show_window(self) -> None:
        self._guard.stop()
        bring_to_front(self._window, "")
