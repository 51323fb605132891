"""Says what undo and redo changed, and shows the first of it: it may stand on a panel that is not in sight."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QTabBar, QWidget

from studio.forms.messages import tell_change
from studio.state.context import AppContext
from studio.theme import set_property
from training.config.diff import Change
from training.toml_text import Toml

_FLASH = 1500  # milliseconds
_MOST_TOLD = 2


@dataclass(frozen=True)
class UndoNotice:
    """``find_row`` brings a setting into view, ``go_to`` gives it the keyboard, too."""

    context: AppContext
    tabs: QTabBar
    find_row: Callable[[str], QWidget | None]
    go_to: Callable[[str], object]

    def show(self, back: bool, changes: Mapping[str, tuple[Toml, Toml]]) -> None:
        """Tell of an undo (``back``) or a redo in a notice, which takes the place of the one before, and tint the first setting."""
        self._tell("Undone" if back else "Redone", [Change(path, old, new) for path, (old, new) in changes.items()])
        panel = self.tabs.currentIndex()
        for path in changes:
            if (row := self.find_row(path)) is not None:
                if self.tabs.currentIndex() != panel:
                    self.go_to(path)  # the keyboard goes along: where it was is out of sight
                set_property(row, "flash", True)
                QTimer.singleShot(_FLASH, row, lambda: set_property(row, "flash", False))
                return

    def _tell(self, title: str, changes: list[Change]) -> None:
        told = [tell_change(change, self.context.draft.kind) for change in changes[:_MOST_TOLD]]
        rest = len(changes) - len(told)
        more = f"; and {rest} more" if rest else ""
        self.context.notifier.notify(f"{'; '.join(told)}{more}", title=title, subject="undo")
