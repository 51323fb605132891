"""Studies of the workspace."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from studio.state.context import AppContext
from studio.widgets import EmptyState, vbox


class StudiesTab(QWidget):
    """What there is, and what can be done with it."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self.empty = EmptyState(
            "gauge",
            "No studies yet",
            "A study trains a few short runs and proposes a setting: the learning rate, the batch size, what makes it faster.",
        )
        vbox((self.empty, 1), parent=self)
