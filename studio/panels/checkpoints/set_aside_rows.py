"""What a run set aside, in the tree of its checkpoints: how much it is, bring it back, clear it away."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QApplication, QTreeView, QWidget

from studio.actions.runs import clear_stretch, restore_stretch
from studio.engine.state import ENDED, RunState
from studio.state.context import AppContext
from studio.state.runs.checkpoint_tree import CheckpointTree
from studio.state.runs.set_aside import SetAsideList, Stretch
from studio.theme import SPACING, set_role
from studio.widgets import ElidedLabel, button, hbox
from training.runs.folder import RunFolder

_TRAINS = "The run is being trained. Stop it first, or wait for its end."
_BUSY = "One moment: what is set aside is being moved."


class SetAsideRows(QObject):
    """Gives each stretch in ``model`` its row with buttons in ``view``, which takes the keyboard where a row that has it goes.

    Signals:
        shown(): ``stretches`` is as new as the folder.
    """

    shown = Signal()

    def __init__(self, context: AppContext, model: CheckpointTree, view: QTreeView) -> None:
        super().__init__(view)
        self._context, self._model, self._view = context, model, view
        self._state = RunState.IDLE
        self._busy = False
        self._list = SetAsideList(context.background, self)
        self._list.refreshed.connect(self._on_refreshed)
        model.arranged.connect(self._dress)
        context.library.restored.connect(self._on_restored)

    @property
    def stretches(self) -> tuple[Stretch, ...]:
        """What is shown, newest first."""
        return self._list.stretches

    def rows(self) -> list[StretchRow]:
        """A row for each stretch, newest first."""
        found = (self._view.indexWidget(self._model.find(stretch)) for stretch in self._list.stretches)
        return [row for row in found if isinstance(row, StretchRow)]

    def row_of(self, stretch: Stretch) -> StretchRow | None:
        """The row of this one."""
        return next((row for row in self.rows() if row.stretch == stretch), None)

    def set_run(self, folder: RunFolder | None, state: RunState) -> None:
        """Show what the run in ``folder`` set aside; ``state`` decides whether it can be brought back."""
        self._state = state
        if folder != self._list.folder:
            self._busy = False
        self._list.set_folder(folder)
        self._show()

    def set_state(self, state: RunState) -> None:
        """The run went on or ended."""
        self._state = state
        self._update_buttons()

    def refresh(self) -> None:
        """Read the folder again."""
        self._list.refresh()

    @Slot()
    def _on_refreshed(self) -> None:
        self._show()
        self.shown.emit()

    def _show(self) -> None:
        if [row.stretch for row in self.rows()] != list(self._list.stretches):
            self._hand_keyboard_over()
        self._model.set_stretches(self._list.stretches)

    @Slot()
    def _dress(self) -> None:
        for stretch in self._list.stretches:
            index = self._model.find(stretch)
            if index.isValid() and self._view.indexWidget(index) is None:
                row = StretchRow(stretch)
                row.restore.clicked.connect(self._with(stretch, self._restore))
                row.clear.clicked.connect(self._with(stretch, self._clear))
                self._view.setIndexWidget(index, row)
                self._view.scheduleDelayedItemsLayout()  # as high as its buttons
        self._update_buttons()

    def _with(self, stretch: Stretch, act: Callable[[RunFolder, Stretch], None]) -> Callable[[], None]:
        def call() -> None:
            if self._list.folder is not None:
                act(self._list.folder, stretch)

        return call

    def _restore(self, folder: RunFolder, stretch: Stretch) -> None:
        self._set_busy(True)
        restore_stretch(self._context, folder, stretch, self._on_done)

    def _clear(self, folder: RunFolder, stretch: Stretch) -> None:
        self._set_busy(True)
        clear_stretch(self._context, folder, stretch, self._on_done)

    @Slot(object)
    def _on_restored(self, folder: RunFolder) -> None:
        if folder == self._list.folder:
            self.refresh()

    def _on_done(self) -> None:
        self._set_busy(False)
        self.refresh()

    def _set_busy(self, busy: bool) -> None:
        self._busy = busy
        self._update_buttons()

    def _update_buttons(self) -> None:
        reason = _TRAINS if self._state not in ENDED else _BUSY if self._busy else ""
        if reason:
            self._hand_keyboard_over()
        for row in self.rows():
            row.set_reason(reason)

    def _hand_keyboard_over(self) -> None:
        """Before buttons are disabled or go: Qt would give it to whatever comes next in the window."""
        focused = QApplication.focusWidget()
        if focused is not None and any(row.isAncestorOf(focused) for row in self.rows()):
            self._view.setFocus()


class StretchRow(QWidget):
    """One stretch."""

    def __init__(self, stretch: Stretch) -> None:
        super().__init__()
        self.stretch = stretch
        steps = stretch.steps
        self.restore = button("Restore", "undo")
        self.clear = button("Clear away", "trash")
        self._tips = {
            self.restore: f"Bring {steps} back; what the run trained since is set aside in their place",
            self.clear: f"Move {steps} to the trash",
        }
        for made, verb in ((self.restore, "Restore"), (self.clear, "Clear away")):
            made.setAccessibleName(f"{verb} {steps}")
        words = ElidedLabel(stretch.words, Qt.TextElideMode.ElideRight)
        set_role(words, "help")
        hbox((words, 1), self.restore, self.clear, parent=self, margins=(SPACING.m, SPACING.xs, SPACING.m, SPACING.xs))

    def set_reason(self, reason: str) -> None:
        """Why nothing can be done with it now; "" when it can."""
        for made, tip in self._tips.items():
            made.setEnabled(not reason)
            made.setToolTip(reason or tip)
            made.setAccessibleDescription(reason or tip)
