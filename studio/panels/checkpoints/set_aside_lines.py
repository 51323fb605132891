"""A line for each stretch that a run set aside: how much it is, bring it back, clear it away."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QApplication, QWidget

from studio.actions.runs import clear_stretch, restore_stretch
from studio.engine.state import ENDED, RunState
from studio.state.context import AppContext
from studio.state.runs.set_aside import SetAsideList, Stretch
from studio.theme import SPACING
from studio.widgets import button, hbox, label, separator, vbox
from training.runs.folder import RunFolder

_TRAINS = "The run is being trained. Stop it first, or wait for its end."
_BUSY = "One moment: what is set aside is being moved."


class SetAsideLines(QWidget):
    """Takes no room while nothing is set aside. ``home`` takes the keyboard where a line that has it goes.

    Signals:
        shown(): ``stretches`` is as new as the folder.
    """

    shown = Signal()

    def __init__(self, context: AppContext, home: QWidget) -> None:
        super().__init__()
        self._context = context
        self._home = home
        self._state = RunState.IDLE
        self._busy = False
        self._rows: list[_Row] = []
        self._list = SetAsideList(context.background, self)
        self._list.refreshed.connect(self._on_refreshed)
        context.library.restored.connect(self._on_restored)
        self._column = vbox(separator(), parent=self)
        self.hide()

    @property
    def stretches(self) -> tuple[Stretch, ...]:
        """What is shown, newest first."""
        return self._list.stretches

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
        stretches = self._list.stretches
        if [row.stretch for row in self._rows] != list(stretches):
            self._hand_keyboard_over()
            for row in self._rows:
                row.setParent(None)
                row.deleteLater()
            self._rows = [_Row(stretch) for stretch in stretches]
            for row in self._rows:
                self._column.addWidget(row)
                row.restore.clicked.connect(self._with(row.stretch, self._restore))
                row.clear.clicked.connect(self._with(row.stretch, self._clear))
        self.setVisible(bool(stretches))
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
        for row in self._rows:
            row.set_reason(reason)

    def _hand_keyboard_over(self) -> None:
        """Before buttons are disabled or go: Qt would give it to whatever comes next in the window."""
        focused = QApplication.focusWidget()
        if focused is not None and self.isAncestorOf(focused):
            self._home.setFocus()


class _Row(QWidget):
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
        buttons = hbox((self.restore, 1), (self.clear, 1))
        words = f"{steps[0].upper()}{steps[1:]} set aside · {stretch.held}"
        vbox(label(words, "help", wrap=True), buttons, parent=self, spacing=SPACING.xs)

    def set_reason(self, reason: str) -> None:
        """Why nothing can be done with it now; "" when it can."""
        for made, tip in self._tips.items():
            made.setEnabled(not reason)
            made.setToolTip(reason or tip)
            made.setAccessibleDescription(reason or tip)
