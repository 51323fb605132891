"""The menu of a row in the tree of checkpoints: the buttons once more."""

from __future__ import annotations

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QPushButton, QWidget

from studio.panels.checkpoints.resume_button import ResumeButton
from studio.theme import icon
from training.runs.records.manifest import CheckpointInfo


class RowMenu(QMenu):
    """Deletes itself when it closes."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setToolTipsVisible(True)
        self.aboutToHide.connect(self.deleteLater)

    def add_button(self, made: QPushButton) -> QAction:
        """What ``made`` does, while it can be pressed."""
        action = self.addAction(made.icon(), made.text())
        action.setEnabled(made.isEnabled())
        action.setToolTip(made.toolTip())
        action.triggered.connect(made.click)
        return action

    def add_resume(self, resume: ResumeButton, info: CheckpointInfo, *, is_last: bool) -> None:
        """The way of ``resume`` that leads on from ``info``, its selected checkpoint."""
        way = resume.last if is_last and resume.last.isEnabled() else resume.selected
        action = self.addAction(icon("resume"), f"Resume from step {info.step:,}")
        action.setEnabled(way.isEnabled() and resume.more.isEnabled())
        action.setToolTip(resume.main.toolTip())
        action.triggered.connect(way.trigger)
