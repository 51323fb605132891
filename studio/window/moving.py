"""Moves the workspace: to where, what that takes, how far it is, and what becomes of the old folder."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QDialog, QWidget

from studio.state.context import AppContext
from studio.state.moving import Moving, Stage, moving_of
from studio.theme import SPACING, set_role
from studio.widgets import STRETCH, PathEdit, ProgressLine, button, hbox, label, vbox

_WIDTH = 560


class MoveDialog(QDialog):
    """Accepted once the workspace is elsewhere, and the window has to be started again."""

    def __init__(self, context: AppContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._moving: Moving = moving_of(context)
        self.setWindowTitle("Move the workspace")
        self.setModal(True)
        self.title = label("Move the workspace", "section")
        self.words = label(
            f"All runs, studies, sweeps and the queue go from {context.workspace} to an empty or new folder.",
            "body",
            wrap=True,
        )
        self.place = PathEdit("folder", title="Choose an empty or new folder")
        self.place.setAccessibleName("New folder")
        self.place.set_placeholder("An empty folder, or a new one")
        self.plan = label("", "help", wrap=True)
        self.line = ProgressLine()
        self.move_button = button("Move", "folder", "primary", clicked=self._moving.begin)
        self.delete = button("Delete the old folder and restart", "trash", clicked=self._moving.delete_old)
        self.restart = button("Restart", variant="primary", clicked=self.accept)
        self.cancel = button("Cancel", clicked=self.reject)
        buttons = hbox(STRETCH, self.move_button, self.delete, self.restart, self.cancel, margins=(0, SPACING.m, 0, 0))
        self._column = vbox(
            self.title,
            self.words,
            self.place,
            self.plan,
            self.line,
            buttons,
            parent=self,
            spacing=SPACING.m,
            margins=SPACING.xl,
        )
        self.place.path_changed.connect(self._moving.look)
        self._moving.changed.connect(self.show_state)
        self._moving.progressed.connect(self._show_progress)
        self._moving.look(self.place.path())
        self.show_state()

    @Slot()
    def show_state(self) -> None:
        """Say what can be done, and what is being done."""
        moving, stage = self._moving, self._moving.stage
        is_done = stage in (Stage.MOVED, Stage.DELETING, Stage.OVER)
        self.place.setEnabled(stage in (Stage.CHOOSING, Stage.LOOKING))
        self.place.set_invalid(bool(moving.problem) and not is_done)
        self.place.setVisible(not is_done)
        self.move_button.setVisible(stage in (Stage.CHOOSING, Stage.LOOKING))
        self.move_button.setEnabled(stage is Stage.CHOOSING and moving.plan is not None and not moving.problem)
        self.cancel.setVisible(not is_done)
        self.cancel.setEnabled(not moving.is_canceling)
        self.line.setVisible(stage in (Stage.MOVING, Stage.DELETING))
        self.delete.setVisible(stage is Stage.MOVED and moving.is_kept)
        self.restart.setVisible(stage in (Stage.MOVED, Stage.OVER))
        self.restart.setText("Keep it and restart" if moving.is_kept else "Restart")
        if is_done and moving.plan is not None:
            self.title.setText("The workspace was moved")
            self.words.setText(self._tell_end())
        set_role(self.plan, "problem" if moving.problem else "help")
        self.plan.setText(moving.problem or self._describe())
        self.plan.setVisible(bool(self.plan.text()))
        self._show_progress()
        self._fit()
        if stage is Stage.OVER:
            self.accept()

    def _fit(self) -> None:
        """As high as the words need: a window's own hint knows nothing of wrapped lines."""
        self._column.invalidate()
        self.setFixedSize(_WIDTH, self._column.totalHeightForWidth(_WIDTH))

    def reject(self) -> None:
        """Give up what is under way; what was moved already stays so, and who closes this keeps the old folder."""
        stage = self._moving.stage
        if stage is Stage.MOVING:
            self._moving.cancel()
        elif stage in (Stage.MOVED, Stage.OVER):
            self.accept()
        elif stage is not Stage.DELETING:
            super().reject()

    def _describe(self) -> str:
        if self._moving.stage is Stage.LOOKING:
            return "Looking what that takes …"
        if self._moving.stage is Stage.CHOOSING and self._moving.plan is not None:
            return self._moving.plan.words
        return ""

    def _tell_end(self) -> str:
        plan = self._moving.plan
        assert plan is not None
        begin = f"The workspace is {plan.target} now"
        if not self._moving.is_kept:
            return f"{begin}. Trainwright starts again to use it."
        return (
            f"{begin}; every file there was compared. The old folder {plan.workspace} is still there, whole. Trainwright starts again to use "
            "the new one."
        )

    @Slot()
    def _show_progress(self) -> None:
        moving = self._moving
        if moving.stage is Stage.DELETING:
            self.line.set_progress(None, "Deleting the old folder …")
        else:
            before = "Canceling … " if moving.is_canceling else ""
            self.line.set_progress(moving.progress.fraction, f"{before}{moving.progress}")


def move_by_dialog(context: AppContext, parent: QWidget) -> bool:
    """Have a person move the workspace; returns whether it is elsewhere now."""
    dialog = MoveDialog(context, parent)
    is_moved = dialog.exec() == QDialog.DialogCode.Accepted
    dialog.deleteLater()
    return is_moved
