"""How a person divided a page, kept from one start to the next."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, QTimer, Slot
from PySide6.QtWidgets import QSplitter

from studio.services.settings import SettingsStore

_REST = 500  # milliseconds after a movement of the handle, until the settings are written


class KeptSizes(QObject):
    """Of the parts of ``split``, under ``name``, in each of its orientations."""

    def __init__(self, split: QSplitter, settings: SettingsStore, name: str) -> None:
        super().__init__(split)
        self._split, self._settings, self._name = split, settings, name
        self._sizes = {way: _parse(settings.get().splits, self._key(way)) for way in Qt.Orientation}
        self._timer = QTimer(self, singleShot=True, interval=_REST)
        self._timer.timeout.connect(self._write)
        split.splitterMoved.connect(self._on_moved)

    def find(self) -> list[int]:
        """In pixels, as the person left them; nothing where nobody moved the handle."""
        return self._sizes[self._split.orientation()]

    @Slot()
    def _on_moved(self) -> None:
        self._sizes[self._split.orientation()] = self._split.sizes()
        self._timer.start()

    @Slot()
    def _write(self) -> None:
        way = self._split.orientation()
        others = [line for line in self._settings.get().splits.split("\n") if line and not _is_of(line, self._key(way))]
        words = (self._key(way), *map(str, self._sizes[way]))
        self._settings.update(splits="\n".join([*others, " ".join(words)]))

    def _key(self, way: Qt.Orientation) -> str:
        return f"{self._name}-{'horizontal' if way == Qt.Orientation.Horizontal else 'vertical'}"


def _parse(text: str, key: str) -> list[int]:
    """Nothing where there is none, or somebody edited it."""
    line = next((line for line in text.split("\n") if _is_of(line, key)), "")
    sizes = line.split(" ")[1:]
    return [int(size) for size in sizes] if all(size.isdecimal() for size in sizes) else []


def _is_of(line: str, key: str) -> bool:
    return line.split(" ")[0] == key
