"""Asking for a newer version, beside the window's work."""

from __future__ import annotations

import time
from functools import partial
from typing import Final

from PySide6.QtCore import QObject, Signal

from studio.services.app_settings import AppSettings
from studio.services.background import Background
from studio.services.settings import SettingsStore
from studio.services.updates import find_newer
from studio.state.context import AppContext
from training.system.newer import is_newer

_DAY: Final = 86_400.0


class Updates(QObject):
    """Asks when the person says so, and once a day where they want that. What was found last is remembered.

    Signals:
        changed(): it asks, or has an answer.
    """

    changed = Signal()

    def __init__(self, settings: SettingsStore, background: Background, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings, self._background = settings, background.make_other()
        self.is_asking = False
        self.problem = ""  # why the last question has no answer
        self.is_answered = False  # since the start of the window

    @property
    def newer(self) -> str:
        """The newer version that is known of; "" for none."""
        found = self._settings.get().update_found
        return found if is_newer(found) else ""

    def ask_when_due(self) -> None:
        """Ask, where the last time is a day ago."""
        if not 0.0 <= time.time() - self._settings.get().update_asked < _DAY:
            self.ask()

    def ask(self) -> None:
        """Ask now."""
        if self.is_asking:
            return
        self.is_asking, self.problem = True, ""
        self.changed.emit()
        settings = self._settings.get()
        asked = _source(settings)
        ask = partial(find_newer, settings, lambda: self._background.is_closed)
        self._background.submit(ask, partial(self._on_answer, asked), partial(self._on_failure, asked))

    def _on_answer(self, asked: tuple[str, ...], newer: str) -> None:
        self.is_asking = False
        if asked == _source(self._settings.get()):  # else another one is to be asked by now
            self.is_answered = True
            self._settings.update(update_asked=time.time(), update_found=newer)
        self.changed.emit()

    def _on_failure(self, asked: tuple[str, ...], error: Exception) -> None:
        self.is_asking = False
        if asked == _source(self._settings.get()):
            self.problem = str(error)
        self.changed.emit()


def _source(settings: AppSettings) -> tuple[str, ...]:
    return settings.engine_index, settings.engine_proxy, settings.interpreter


def updates_of(context: AppContext) -> Updates:
    """Those of a window, made when they are asked for first."""
    return context.findChild(Updates) or Updates(context.settings, context.background, context)
