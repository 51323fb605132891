"""Configurations that were opened or saved lately, and a menu of them."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QMenu, QWidget

from studio.services.settings import SettingsStore
from studio.state.context import AppContext
from studio.theme import icon
from training.system.untrusted import escape_unprintable

_KEPT = 10
_LONGEST = 60  # letters of a name or a folder in the menu


def remember_file(settings: SettingsStore, file: str | Path) -> None:
    """Make it the newest."""
    path = str(Path(file).absolute())
    files = [path, *(each for each in list_files(settings) if each != path)]
    settings.update(recent_files="\n".join(files[:_KEPT]))


def list_files(settings: SettingsStore) -> list[str]:
    """The newest first; some may be gone."""
    return [file for file in settings.get().recent_files.split("\n") if file]


class RecentMenu(QMenu):
    """Filled when it is shown. Remembers what ``context`` opens."""

    def __init__(self, context: AppContext, parent: QWidget) -> None:
        super().__init__("Open recent", parent)
        self._context = context
        self.setIcon(icon("file", "muted"))
        self.setToolTipsVisible(True)
        self.aboutToShow.connect(self._fill)
        context.file_opened.connect(partial(remember_file, context.settings))

    @Slot()
    def _fill(self) -> None:
        self.clear()
        files = list_files(self._context.settings)
        for file in files:
            path = Path(file)
            words = (escape_unprintable(text, _LONGEST).replace("&", "&&") for text in (path.name, str(path.parent)))
            action = self.addAction("\t".join(words), partial(self._open, file))
            is_there = os.path.isfile(file)  # noqa: PTH113 - which has no error where nobody may look
            action.setEnabled(is_there)
            action.setToolTip(escape_unprintable(file, 1000) + ("" if is_there else " is not there any more."))
        if files:
            self.addSeparator()
            self.addAction("Clear this list", lambda: self._context.settings.update(recent_files=""))
        else:
            self.addAction("No configuration was opened yet").setEnabled(False)

    def _open(self, file: str) -> None:
        if self._context.open_config(file):
            self._context.show_page("setup")
