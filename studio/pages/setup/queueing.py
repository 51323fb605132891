"""The queue, as far as the start bar has to do with it."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, Slot

from studio.actions.queueing import add_draft
from studio.pages.setup.start_bar import StartBar
from studio.state.context import AppContext
from studio.state.run_queue import explain_sharing


class Queueing(QObject):
    """Adds what the forms say to the queue, and tells what the queue trains meanwhile."""

    def __init__(self, context: AppContext, bar: StartBar) -> None:
        super().__init__(bar)
        self._context = context
        self._bar = bar
        bar.queue_asked.connect(partial(add_draft, context))
        context.queue.changed.connect(self._on_queue_changed)
        self._on_queue_changed()

    @Slot()
    def _on_queue_changed(self) -> None:
        self._bar.set_remark(explain_sharing(self._context.queue))
