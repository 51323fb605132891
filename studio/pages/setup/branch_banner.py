"""Says that the next run starts from a checkpoint, what that brings along, and what has been changed against it."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout, QWidget

from studio.state.context import AppContext, BranchSource
from studio.theme import SPACING
from studio.widgets import Banner
from training.config.diff import diff

_MOST = 4


class BranchBanner(QWidget):
    """Hidden while the next run starts anew."""

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self.banner = Banner("accent", "", "", closable=False)
        self.banner.add_action("Cancel", context.cancel_branch)
        column = QVBoxLayout(self)
        column.setContentsMargins(SPACING.l, SPACING.m, SPACING.l, 0)
        column.addWidget(self.banner)
        context.branch_changed.connect(self._update)
        context.draft.changed.connect(self._update)
        self._update()

    def _update(self) -> None:
        branch = self._context.branch
        self.setVisible(branch is not None)
        if branch is not None:
            title = f"Branching from {branch.config.name}, step {branch.checkpoint.step:,}"
            self.banner.set_message(title, f"Weights and optimizer state come from there. {self._changes(branch)}")

    def _changes(self, branch: BranchSource) -> str:
        config = self._context.draft.usable_config()
        if config is None:
            return ""
        changes = [str(change) for change in diff(branch.config, config) if change.path != "name"]
        if not changes:
            return "No setting is changed yet."
        more = f" and {len(changes) - _MOST} more" if len(changes) > _MOST else ""
        return f"Changed: {'; '.join(changes[:_MOST])}{more}."
