"""Sweeps of the workspace."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from studio.state.context import AppContext
from studio.widgets import EmptyState, vbox


class SweepsTab(QWidget):
    """What there is, and what can be done with it."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self.empty = EmptyState(
            "sliders",
            "No sweeps yet",
            "A sweep trains many runs with other settings and shows which of them are better.",
        )
        vbox((self.empty, 1), parent=self)
