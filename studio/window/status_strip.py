"""The line at the foot of the window: how the engine is, and where runs are kept."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHBoxLayout, QWidget

from studio.engine.messages import EngineState
from studio.state.context import AppContext
from studio.theme import SPACING, IconRole
from studio.widgets import ElidedLabel, IconLabel, button, label


class StatusStrip(QWidget):
    """Engine state at the left, the workspace at the right."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._dot = IconLabel("dot", 10)
        self.text = label("", "caption")
        self.retry = button("Try again", "refresh", "ghost")
        self.retry.clicked.connect(context.engine.restart)
        workspace = ElidedLabel(str(context.workspace))
        workspace.setProperty("role", "caption")
        workspace.setMaximumWidth(360)
        row = QHBoxLayout(self)
        row.setContentsMargins(SPACING.l, SPACING.xs, SPACING.l, SPACING.xs)
        row.setSpacing(SPACING.s)
        row.addWidget(self._dot)
        row.addWidget(self.text)
        row.addWidget(self.retry)
        row.addStretch(1)
        row.addWidget(IconLabel("folder", 14))
        row.addWidget(workspace)
        context.engine.state_changed.connect(self.refresh)
        context.live.state_changed.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Say how the engine is."""
        engine = self._context.engine
        role: IconRole = "muted"
        if engine.state is EngineState.STARTING:
            text = "Engine warming up"
            role = "warning"
        elif engine.state is EngineState.READY:
            text = f"Engine ready: {engine.info}"
            role = "success"
        elif engine.state is EngineState.BUSY:
            text = f"Engine training: {engine.info}" if engine.training else "Engine at work"
            role = "accent"
        else:
            text = engine.death.sentence if engine.death else "Engine closed"
            role = "danger"
        self._dot.set_icon("dot", role)
        self.text.setText(text)
        self.text.setToolTip(str(engine.death) if engine.death else "")
        self.retry.setVisible(engine.state is EngineState.DEAD)
