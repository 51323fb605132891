"""Stretches of a run: 300, 3 epochs or 5 %, with the steps that they come to beside them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue
from PySide6.QtWidgets import QLineEdit

from studio.forms.editor import Editor
from studio.theme import SPACING, set_invalid
from studio.widgets import hand_keyboard_on, hbox, in_widget, label
from training.config.field_spec import FieldSpec
from training.core.durations import count_duration, read_duration
from training.errors import pluralize

_WIDTH = 132


class DurationEditor(Editor):
    """One of them, or with "durations" several with commas."""

    def __init__(self, spec: FieldSpec) -> None:
        self._several = spec.editor == "durations"
        example = "30 epochs, 60 epochs" if self._several else "300, 3 epochs or 5 %"
        self._edit = QLineEdit(placeholderText=example)
        self._edit.setAcceptDrops(False)
        self._edit.setFixedWidth(200 if self._several else _WIDTH)
        self.note = label("", "help")
        super().__init__(in_widget(hbox(self._edit, self.note, spacing=SPACING.xs)))
        hand_keyboard_on(self, self._edit)
        self._length: tuple[int, int] | None = None
        self._by_epochs = False
        self._edit.textChanged.connect(self._on_edited)
        self._edit.textChanged.connect(self._tell_steps)
        self._edit.editingFinished.connect(self.finished)

    def value(self) -> Any:
        if not self._several:
            return _read(self._edit.text())
        return self._edit.text() if self.problem() else self._durations()

    def problem(self) -> str:
        for duration in self._durations() if self._several else ():
            try:
                read_duration(duration)
            except ValueError as error:
                return f"Each {error}, but {duration} is not."
        return ""

    def _durations(self) -> list[int | str]:
        parts = re.split(r"[,;]|(?<=\d)\s+(?=\d)", self._edit.text().strip(" ,;()[]"))
        return [_read(part) for part in parts if part.strip()]

    def set_length(self, total_steps: int, steps_per_epoch: int) -> None:
        self._length = (total_steps, steps_per_epoch) if total_steps else None
        self._tell_steps()

    def follow(self, values: Mapping[str, JsonValue]) -> None:
        self._by_epochs = values.get("every") == "epoch"
        self._tell_steps()

    def set_invalid(self, invalid: bool) -> None:
        set_invalid(self._edit, invalid)
        self.note.setVisible(not invalid)

    def describe(self, name: str, description: str) -> None:
        super().describe(name, description)
        self._edit.setAccessibleName(name)
        self._edit.setAccessibleDescription(description)

    def _show(self, value: Any) -> None:
        self._edit.setText(", ".join(map(str, value)) if isinstance(value, list) else str(value))
        self._edit.setCursorPosition(0)

    def _tell_steps(self) -> None:
        """``= 705 steps``, for what is not written in them."""
        self.note.setText(self._steps_in_words())

    def _steps_in_words(self) -> str:
        values = self._durations() if self._several else [_read(self._edit.text())]
        if self._length is None or (all(isinstance(value, int) for value in values) and not self._by_epochs):
            return "steps" if values and all(isinstance(value, int) for value in values) else ""
        total, per_epoch = self._length
        every = "epoch" if self._by_epochs else "step"
        try:
            counted = [count_duration(value, total, per_epoch, every) for value in values]
        except ValueError:
            return ""  # the problem says it
        if self._by_epochs and not all(isinstance(value, str) and "epoch" in value for value in values):
            return f"= {_join(counted, 'epoch')}"
        return f"= {_join([count * per_epoch for count in counted] if self._by_epochs else counted, 'step')}"


def _read(text: str) -> int | str:
    """Whole numbers are steps; anything else stays as it was typed."""
    text = text.strip()
    return int(text) if re.fullmatch("-?[0-9]{1,9}", text) else text


def _join(numbers: list[int], unit: str) -> str:
    if len(numbers) == 1:
        return pluralize(numbers[0], unit)
    return f"{', '.join(f'{number:,}' for number in numbers)} {unit}s"
