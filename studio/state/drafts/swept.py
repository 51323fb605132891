"""The settings that the sweep being prepared varies, and what it is to try of each."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import QObject, Signal


class Swept(QObject):
    """By dotted path what ``--vary path=`` takes, in the order in which they were put in.

    Signals: `changed()` when another setting is varied, or none; `asked(path)` when a person wants to see the sweep they put a setting into.
    """

    changed = Signal()
    asked = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._texts: dict[str, str] = {}

    def __contains__(self, path: str) -> bool:
        return path in self._texts

    @property
    def texts(self) -> Mapping[str, str]:
        """By path what is to be tried, right or wrong."""
        return dict(self._texts)

    @property
    def vary(self) -> tuple[str, ...]:
        """As the command line's ``--vary`` has them."""
        return tuple(f"{path}={text}" for path, text in self._texts.items())

    def put(self, path: str, text: str) -> None:
        """Vary a setting; one that is there already keeps what is to be tried of it."""
        if path not in self._texts:
            self._texts[path] = text
            self.changed.emit()

    def write(self, path: str, text: str) -> None:
        """Try something else of a setting that is varied. Raises KeyError for another."""
        if path not in self._texts:
            raise KeyError(path)
        self._texts[path] = text

    def take_out(self, path: str) -> None:
        """Vary it no more."""
        if self._texts.pop(path, None) is not None:
            self.changed.emit()

    def clear(self) -> None:
        """Vary nothing."""
        if self._texts:
            self._texts.clear()
            self.changed.emit()
