"""The preferences as an object that tells when they change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from studio.services.app_settings import AppSettings, find_newer_version, load_settings, save_settings, settings_file


class SettingsStore(QObject):
    """Keeps the program's settings and writes each change at once.

    Signals:
        changed(AppSettings): after at least one setting got another value.
    """

    changed = Signal(object)

    def __init__(
        self, path: Path | None = None, settings: AppSettings | None = None, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._path = path or settings_file()
        self._settings = settings or load_settings(self._path)

    @property
    def newer_version(self) -> str:
        """The newer Trainwright that wrote them; "" where that was none."""
        return find_newer_version(self._path)

    def get(self) -> AppSettings:
        """The settings as they are now."""
        return self._settings

    def update(self, **changes: Any) -> None:
        """Change some settings; names are those of AppSettings."""
        settings = self._settings._replace(**changes)
        if settings != self._settings:
            self._settings = settings
            save_settings(self._path, settings)
            self.changed.emit(settings)
