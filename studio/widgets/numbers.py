"""A field for numbers as people write them: 1e-3, 3e-4, 128. What was typed is never replaced behind one's back."""

import math
import re
from typing import Literal

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QLineEdit

from studio.theme import theme

NumberKind = Literal["float", "int"]

_NUMBER = re.compile(r"[+-]?(\d+(_\d+)*\.?\d*|\.\d+)([eE][+-]?\d+)?")
_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")


def parse_number(text: str, kind: NumberKind, *, optional: bool = False) -> tuple[float | int | None, str]:
    """(value, "") for a number, (None, "") for nothing where that is allowed, else (None, one sentence why not)."""
    text = text.strip().replace("−", "-").replace("\N{NO-BREAK SPACE}", "")
    if not text:
        return None, "" if optional else "Enter a number."
    if not _NUMBER.fullmatch(text):
        return None, _advice(text, kind)
    value = float(text)
    if not math.isfinite(value):
        return None, f"{text} is too large; enter a smaller number."
    if kind == "float":
        return value, ""
    if value != int(value):
        return None, f"{text} is not a whole number; enter one, for example {round(value)}."
    return (int(text) if re.fullmatch(r"[+-]?[\d_]+", text) else int(value)), ""


def format_number(value: float | int) -> str:
    """The shortest text that reads back as the same number, in the notation people use: 128, 0.01, 3e-4."""
    if isinstance(value, int) or (value == int(value) and abs(value) < 1e6):
        return str(int(value))
    text = repr(float(value))
    if 1e-3 < abs(value) < 1e6 and "e" not in text:
        return text
    mantissa, exponent = f"{value:.16e}".split("e")
    for digits in range(17):
        mantissa, exponent = f"{value:.{digits}e}".split("e")
        if float(f"{mantissa}e{exponent}") == value:
            break
    return f"{mantissa}e{int(exponent)}"


def _advice(text: str, kind: NumberKind) -> str:
    if kind == "int":
        if _THOUSANDS.fullmatch(text):
            return f"Write the number without commas: {text.replace(',', '')}."
        return f"“{text}” is not a whole number; write for example 1, 20 or 128."
    if _COMMA.fullmatch(text):
        return f"Write the decimal point as a point: {text.replace(',', '.')}."
    if re.fullmatch(r"[+-]?\d[\d.]*[eE][+-]?", text):
        return f"{text} is not finished; write for example 1e-3."
    return f"“{text}” is not a number; write for example 0.001, 1e-3 or 128."


class NumberEdit(QLineEdit):
    """A line for one number.

    Up and Down step it: by a factor of 2 in a `log` field (with Ctrl: 10), else by `step` (with Ctrl: ten steps),
    inside `minimum`..`maximum`. The bounds hold for the keys only: whether a typed value is allowed is for the owner
    of the field to say.
    """

    def __init__(
        self,
        kind: NumberKind = "float",
        *,
        unit: str = "",
        log: bool = False,
        step: float | None = None,
        minimum: float | None = None,
        maximum: float | None = None,
        optional: bool = False,
    ) -> None:
        super().__init__()
        self._kind: NumberKind = kind
        self._unit = unit
        self._log = log
        self._step = step if step is not None else (1 if kind == "int" else 0.1)
        self._minimum = minimum
        self._maximum = maximum
        self._optional = optional
        self._value: float | int | None = None
        self._problem = "" if optional else "Enter a number."
        if unit:
            self.setTextMargins(0, 0, self.fontMetrics().horizontalAdvance(unit) + 6, 0)
        self.setInputMethodHints(Qt.InputMethodHint.ImhFormattedNumbersOnly)
        self.textChanged.connect(self._on_text_changed)

    def value(self) -> float | int | None:
        """The number that stands in the field; None when it is empty or not a number (see `problem`)."""
        return self._value

    def is_valid(self) -> bool:
        """Whether the text is a number, or empty where that is allowed."""
        return not self._problem

    def problem(self) -> str:
        """One sentence about a text that is no number; "" when there is nothing to say."""
        return self._problem

    def keyPressEvent(self, event: QKeyEvent) -> None:
        direction = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}.get(Qt.Key(event.key()))
        if direction is None or self.isReadOnly():
            super().keyPressEvent(event)
            return
        self._step_by(direction, coarse=bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier))

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self._unit:
            painter = QPainter(self)
            palette = theme().palette
            painter.setPen(QColor(palette.muted if self.isEnabled() else palette.faint))
            right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(self.rect().adjusted(0, 0, -10, 0), right, self._unit)

    def _step_by(self, direction: int, *, coarse: bool) -> None:
        if self._value is None:
            return
        if self._log and self._value != 0:
            factor = (10.0 if coarse else 2.0) ** direction
            moved = self._value * factor
        else:
            moved = self._value + direction * self._step * (10 if coarse else 1)
        if self._kind == "int":
            # Halving 1 would round to 0 or back to 1; either way the person sees where the end is.
            moved = math.floor(moved) if direction < 0 else math.ceil(moved)
        if self._minimum is not None:
            moved = max(moved, self._minimum)
        if self._maximum is not None:
            moved = min(moved, self._maximum)
        self.setText(format_number(int(moved) if self._kind == "int" else float(f"{moved:.10g}")))
        self.selectAll()

    def _on_text_changed(self, text: str) -> None:
        self._value, self._problem = parse_number(text, self._kind, optional=self._optional)
