"""What is recorded of the run shown's steps beside its curves: parts of the loss and norms of layers."""

from __future__ import annotations

from PySide6.QtCore import QObject, Slot

from studio.engine.state import LIVE
from studio.panels.records.layers_card import LayersCard
from studio.panels.records.parts_card import PartsCard
from studio.state.context import AppContext
from training.events import AttemptStarted, Event


class StepRecords(QObject):
    """The two cards of ``context.shown``, which follow it by themselves."""

    def __init__(self, context: AppContext, parent: QObject) -> None:
        super().__init__(parent)
        self._shown = shown = context.shown
        self.parts = PartsCard(context)
        self.layers = LayersCard(context.background)
        shown.state_changed.connect(self.show_run)
        shown.event_arrived.connect(self._on_event)
        shown.truncated.connect(self._on_truncated)
        shown.looked.connect(self.parts.follower.refresh)
        shown.looked.connect(self.layers.refresh)

    @Slot()
    def show_run(self) -> None:
        """Take up the run as it is now; not before the cards have a page: one that is shown alone would be a window."""
        growing = self._shown.run.state in LIVE
        self.parts.set_run(self._shown.run.folder, growing)
        self.layers.set_run(self._shown.run.folder, self._shown.run.config(), growing)

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        if isinstance(event, AttemptStarted):
            self.show_run()

    @Slot()
    def _on_truncated(self) -> None:
        self.parts.follower.begin_again()
        self.layers.begin_again()
