"""From the table of commands to QActions, and a menu of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import QObject, Slot
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from studio.actions.table import ACTIONS, Action
from studio.state.context import AppContext
from studio.theme import icon


class ActionSet(QObject):
    """The commands as QActions of one window, greyed when they make no sense."""

    def __init__(self, context: AppContext, window: QWidget, own: Mapping[str, Callable[[], object]]) -> None:
        super().__init__(window)
        self._context = context
        self.actions: dict[str, QAction] = {}
        for action in ACTIONS:
            self.actions[action.id] = self._make(action, window, own.get(action.id))
        for signal in (
            context.live.state_changed,
            context.live.attached,
            context.start_problem_changed,
            context.draft.changed,
        ):
            signal.connect(self.update)
        self.update()

    def _make(self, action: Action, window: QWidget, own: Callable[[], object] | None) -> QAction:
        made = QAction(action.title, window)
        if action.icon:
            made.setIcon(icon(action.icon, "muted"))
        if action.shortcut:
            made.setShortcut(QKeySequence(action.shortcut))
        run = action.run
        if run is not None:
            made.triggered.connect(lambda: run(self._context))
        elif own is not None:
            made.triggered.connect(lambda: own())
        else:
            raise KeyError(f"nobody carries out the command {action.id!r}")
        window.addAction(made)
        return made

    @Slot()
    def update(self) -> None:
        """Grey and ungrey."""
        for action in ACTIONS:
            self.actions[action.id].setEnabled(action.enabled(self._context))

    def menu(self, parent: QWidget) -> QMenu:
        """All commands, grouped."""
        made = QMenu(parent)
        groups = dict.fromkeys(action.menu for action in ACTIONS)
        for at, group in enumerate(groups):
            if at:
                made.addSeparator()
            for action in ACTIONS:
                if action.menu == group:
                    made.addAction(self.actions[action.id])
        return made
