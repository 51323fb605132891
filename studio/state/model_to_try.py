"""The trained model that a person wants to ask, chosen on any page."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal


class ModelToTry(QObject):
    """``path`` is a checkpoint's folder or an export's; None until one was chosen. Signals: ``changed()``."""

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.path: Path | None = None

    def choose(self, path: Path | None) -> None:
        """Ask another model from now on, or none."""
        if path != self.path:
            self.path = path
            self.changed.emit()
