"""What all editors of a setting have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import JsonValue
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from studio.theme import set_invalid
from studio.widgets import hand_keyboard_on, hbox
from training.protocol.answers import ClassChoice, Column

EDITOR_WIDTH = 300


class Editor(QWidget):
    """A control for one setting. Signals: `edited()` at each change by the person, `finished()` when it is left.

    `value` gives the value as the configuration takes it, or, while that makes none, the text as it was typed.
    """

    edited = Signal()
    finished = Signal()

    def __init__(self, control: QWidget, *, stretch: bool = False) -> None:
        super().__init__()
        self.control = control
        self._showing = False
        row = hbox((control, 1 if stretch else 0), parent=self)
        if not stretch:
            row.addStretch(1)
        self.setMaximumWidth(EDITOR_WIDTH)
        hand_keyboard_on(self, control)

    def value(self) -> Any:
        """What stands in the editor."""
        raise NotImplementedError

    def set_value(self, value: Any) -> None:
        """Show ``value`` without a signal; what was typed stays when it means the same."""
        if self.value() == value and isinstance(self.value(), bool) == isinstance(value, bool):
            return
        self._showing = True
        try:
            self._show(value)
        finally:
            self._showing = False

    def problem(self) -> str:
        """One sentence about a text that is no value; "" when the rules of the configuration say it better."""
        return ""

    def set_invalid(self, invalid: bool) -> None:
        """Mark the control."""
        set_invalid(self.control, invalid)

    def describe(self, name: str, description: str) -> None:
        """What a screen reader says."""
        self.control.setAccessibleName(name)
        self.control.setAccessibleDescription(description)

    def set_columns(self, columns: Sequence[Column]) -> None:
        """Offer the columns that the dataset's table has; for settings that name columns."""

    def set_classes(self, classes: Sequence[ClassChoice]) -> None:
        """Offer the classes that the data has; for settings that name classes."""

    def set_length(self, total_steps: int, steps_per_epoch: int) -> None:
        """Take in how long the run is (0 steps: not known); for settings that are stretches of it."""

    def suggest_several(self, several: bool) -> None:
        """Offer several columns rather than one; for settings that mostly name one."""

    def offer(self, names: Sequence[str]) -> None:
        """Suggest these; for settings whose suggestions depend on other sections."""

    def follow(self, values: Mapping[str, JsonValue]) -> None:
        """Look at the section's other settings; for editors that depend on one of them."""

    def _show(self, value: Any) -> None:
        raise NotImplementedError

    def _on_edited(self) -> None:
        if not self._showing:
            self.edited.emit()
