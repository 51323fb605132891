"""The line at the foot of the window: how the engine is, and where runs are kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QSize, Slot
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.theme import SPACING, IconRole
from studio.widgets import STRETCH, ElidedLabel, IconLabel, button, hbox, label

if TYPE_CHECKING:
    from studio.state.context import AppContext
    from studio.state.side_job import SideJob

_WARMING_UP = "Starting PyTorch …"
_DOING = {
    "inspect_dataset": "Reading the dataset",
    "digest_data": "Reading the dataset",
    "browse_samples": "Reading samples",
    "digest_samples": "Reading samples",
    "read_samples": "Reading samples",
    "find_duplicates": "Looking for duplicates",
    "summarise_model": "Building the model",
    "check": "Checking the settings",
    "measure_run_time": "Timing some steps",
    "export": "Exporting",
    "evaluate": "Evaluating",
    "add_intervals": "Computing intervals",
    "compare_evaluations": "Comparing evaluations",
}
"""What the engine does, by the action that it was asked for; all others ask a model."""


class StatusStrip(QWidget):
    """Engine state at the left, the queue and the workspace at the right; warming up until there is an engine to ask."""

    def __init__(self) -> None:
        super().__init__()
        self._context: AppContext | None = None
        self._dot = IconLabel("dot", 10)
        self._dot.set_icon("dot", "warning")
        self.text = label(_WARMING_UP, "caption")
        self.retry = button("Try again", "refresh", "ghost")
        self.retry.hide()
        self.queue = button("Queue", "list", "ghost")
        self.queue.setProperty("inStrip", True)
        self.queue.setIconSize(QSize(17, 13))  # no higher than the words
        self.queue.hide()
        policy = self.queue.sizePolicy()
        policy.setRetainSizeWhenHidden(True)  # or the page would jump when it comes
        self.queue.setSizePolicy(policy)
        self._workspace = ElidedLabel("")
        self._workspace.setProperty("role", "caption")
        self._workspace.setMaximumWidth(360)
        self._folder = IconLabel("folder", 14)
        margins = (SPACING.l, SPACING.xs, SPACING.l, SPACING.xs)
        hbox(
            self._dot,
            self.text,
            self.retry,
            STRETCH,
            self.queue,
            self._folder,
            self._workspace,
            parent=self,
            margins=margins,
        )
        self._folder.hide()  # there is no path to stand before yet
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)  # a high page takes nothing of it

    def follow(self, context: AppContext) -> None:
        """Tell of the engine and the workspace of ``context`` from now on."""
        from studio.state.context import QUEUE

        self._context = context
        self._workspace.setText(str(context.workspace))
        self._folder.show()
        self.retry.clicked.connect(context.engine.restart)
        context.engine.state_changed.connect(self.refresh)
        context.live.state_changed.connect(self.refresh)
        for job, _ in _beside(context):
            job.changed.connect(self.refresh)
        context.queue.changed.connect(self._show_queue)
        self.queue.clicked.connect(lambda: context.show_page(QUEUE))
        self.refresh()
        self._show_queue()

    @Slot()
    def _show_queue(self) -> None:
        """Say what the queue does; nothing where it has nothing to do."""
        if self._context is None:
            return
        from studio.state.run_queue import describe_queue

        queue = self._context.queue
        words = describe_queue(queue)
        self.queue.setText(words or "Queue")
        self.queue.setVisible(bool(words))
        self.queue.setToolTip(queue.problem or "Show the queue")

    @Slot()
    def refresh(self) -> None:
        """Say how the engine is."""
        if self._context is None:
            return
        from studio.engine.messages import EngineState
        from studio.engine.state import RunState

        engine = self._context.engine
        role: IconRole = "muted"
        if engine.state is EngineState.STARTING:
            text = _WARMING_UP
            role = "warning"
        elif engine.state is EngineState.READY:
            beside = next((word for job, word in _beside(self._context) if job.is_busy), "")
            text = f"{beside or 'Ready'} · {engine.info}"
            role = "accent" if beside else "success"
        elif engine.state is EngineState.BUSY:
            doing = "Paused" if self._context.live.state is RunState.PAUSED else "Training"
            asked = _DOING.get(engine.doing, "Asking the model")
            text = f"{doing if engine.training else asked} · {engine.info}"
            role = "accent"
        else:
            text = engine.death.sentence if engine.death else "Closed"
            role = "danger"
        self._dot.set_icon("dot", role)
        self.text.setText(text)
        self.text.setToolTip(str(engine.death) if engine.death else "")
        self.retry.setVisible(engine.state is EngineState.DEAD)


def _beside(context: AppContext) -> tuple[tuple[SideJob, str], ...]:
    """What works in a process of its own, and how that is said."""
    return (context.studies.job, "A study is at work"), (context.sweeps.job, "A sweep is at work")
