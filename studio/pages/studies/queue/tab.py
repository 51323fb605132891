"""The queue of the workspace."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from studio.state.context import AppContext
from studio.widgets import EmptyState, vbox


class QueueTab(QWidget):
    """What there is, and what can be done with it."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self.empty = EmptyState(
            "list",
            "The queue is empty",
            "Runs added to the queue are trained one after another, also while the window is closed.",
        )
        vbox((self.empty, 1), parent=self)
