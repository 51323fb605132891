"""What the caches take, looked at and cleared beside the window's work."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from studio.services.background import Background
from studio.state.context import AppContext
from training.caches.overview import CacheSizes, clear, measure


class Caches(QObject):
    """Signals: `changed()`: what is known is another, or clearing began or ended."""

    changed = Signal()

    def __init__(self, background: Background, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._background = background.make_other()
        self.sizes: CacheSizes | None = None  # None before it was looked
        self.is_clearing = False
        self.problem = ""  # why they were not cleared

    def look(self) -> None:
        """Find out what they take."""
        if not self.is_clearing:
            self.problem = ""
        self._background.submit(measure, self._on_sizes, self._say)

    def clear(self) -> None:
        """Delete what can be deleted."""
        if not self.is_clearing:
            self.is_clearing, self.problem = True, ""
            self._background.submit(clear, self._on_cleared, self._on_failure)
            self.changed.emit()

    def _on_sizes(self, sizes: CacheSizes) -> None:
        self.sizes = sizes
        self.changed.emit()

    def _on_cleared(self, left: CacheSizes) -> None:
        self.is_clearing = False
        if left.total:
            self.problem = "What is left is in use, or cannot be deleted."
        self._on_sizes(left)

    def _on_failure(self, error: Exception) -> None:
        self.is_clearing = False
        self._say(error)

    def _say(self, error: Exception) -> None:
        self.problem = str(error)
        self.changed.emit()


def caches_of(context: AppContext) -> Caches:
    """Those of a window, made when they are asked for first."""
    return context.findChild(Caches) or Caches(context.background, context)
