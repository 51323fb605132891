"""One setting of the sweep being prepared: a range with its scale, some of its choices, or values that are listed."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QLineEdit, QWidget

from studio.theme import SPACING, set_invalid
from studio.widgets import (
    STRETCH,
    ComboBox,
    NumberEdit,
    Segmented,
    flow_box,
    hbox,
    icon_button,
    in_widget,
    label,
    leave_undo_to_page,
    vbox,
)
from training.sweeps.dimension import split_choices

_USUAL_POINTS = "5"
_NUMBER_WIDTH, _COUNT_WIDTH = 96, 52
_NEEDS_TWO = "Choose two values or more."
_NEEDS_ENDS = "Enter both ends of the range."
_NEEDS_STEP = "Enter the step."
_TIP = Qt.ItemDataRole.ToolTipRole
_NEEDS_COUNT = "Say how many values of the range the grid is to take."
_MOST_WHOLE = 8  # whole numbers that a grid takes one by one where nobody says how many


class DimensionRow(QWidget):
    """``choices`` are all that there are of a setting that is chosen; ``is_number``: a range can be given of it.

    Signals: `edited(path)` by the person; `removed(path)`.
    """

    edited, removed = Signal(str), Signal(str)

    def __init__(self, path: str, title: str, text: str, choices: Sequence[str], is_number: bool, log: bool) -> None:
        super().__init__()
        self.path, self.title = path, title
        self._problem = label("", "problem", wrap=True)
        self._problem.hide()
        self.remove = icon_button("cross", f"Take {title} out of the sweep", clicked=lambda: self.removed.emit(path))
        head = hbox(label(title, "section"), label(path, "caption"), STRETCH, self.remove)
        column = vbox(head, parent=self, spacing=SPACING.xs, margins=(0, SPACING.xs, 0, SPACING.s))
        self.boxes = {choice: QCheckBox(choice) for choice in choices}
        self.values = QLineEdit(placeholderText="Values with | between them, for example 16 | 32 | 64")
        self.values.setAccessibleName(f"Values of {title}")
        leave_undo_to_page(self.values)
        self.low, self.high = (self._make_end(f"{end} end of {title}") for end in ("Lower", "Upper"))
        self.scale, self.step = ComboBox(), self._make_end(f"Step of {title}")
        for scale, words in (("linear", "evenly"), ("log", "by ratio (log)"), ("step", "in steps of")):
            self.scale.addItem(words, scale)
        self.scale.setItemData(1, "As many trials between 0.001 and 0.01 as between 0.01 and 0.1", _TIP)
        self.scale.setCurrentIndex(int(log))
        self.scale.setAccessibleName(f"Scale of {title}")
        self.step.setFixedWidth(_COUNT_WIDTH + 20)
        self.points = NumberEdit("int", minimum=2, optional=True)
        self.points.setFixedWidth(_COUNT_WIDTH)
        self.points.setAccessibleName(f"How many values of {title} a grid takes")
        self.how = Segmented((("range", "Range"), ("values", "Values")))
        self.how.setAccessibleName(f"How {title} is varied")
        self._grid = in_widget(hbox(label("in", "caption"), self.points, label("values", "caption")))
        self._range = in_widget(
            hbox(self.low, label("to", "caption"), self.high, self.scale, self.step, self._grid, STRETCH)
        )
        self._choices = QWidget()
        flow_box(*self.boxes.values(), parent=self._choices, spacing=SPACING.m)
        self._is_number, self._is_whole, self._is_for_grid = is_number, False, False
        for part in (self._choices, in_widget(hbox(self.how, self._range, (self.values, 1))), self._problem):
            column.addWidget(part)
        self.how.setVisible(is_number)
        self._fill(text)
        self._show_parts()
        self._connect()

    def text(self) -> str:
        """What ``--vary path=`` takes; "" while it is not complete."""
        if self.boxes:
            chosen = [choice for choice, box in self.boxes.items() if box.isChecked()]
            return "|".join(chosen) if len(chosen) > 1 else ""
        if not self._is_range():
            return "|".join(split_choices(self.values.text())) if "|" in self.values.text() else ""
        low, high = self.low.text().strip(), self.high.text().strip()
        if not (low and high):
            return ""
        if self.scale.currentData() == "step":
            step = self.step.text().strip()
            return f"{low}:{high}:step={step}" if step else ""
        points = f":{self.points.text().strip()}" if self.points.text().strip() and not self._grid.isHidden() else ""
        return f"{low}:{high}:{self.scale.currentData()}{points}"

    def gap(self) -> str:
        """What is missing yet, in a sentence; "" where nothing is."""
        if self.text():
            return _NEEDS_COUNT if self._wants_count() and not self.points.text().strip() else ""
        if not self._is_range():
            return _NEEDS_TWO
        has_ends = self.low.text().strip() and self.high.text().strip()
        return _NEEDS_STEP if has_ends else _NEEDS_ENDS

    def set_grid(self, on: bool, is_whole: bool) -> None:
        """Whether a grid asks how many values it is to take of a range; of a few whole numbers it takes all where nothing is said."""
        self._is_for_grid, self._is_whole = on, is_whole
        self._show_parts()
        if self._wants_count() and not self.points.text():
            self.points.setText(_USUAL_POINTS)

    def set_problem(self, words: str) -> None:
        """Say what is wrong; "" where nothing is."""
        self._problem.setText(words)
        self._problem.setVisible(bool(words))
        for part in (self.low, self.high, self.values):
            set_invalid(part, bool(words))
        self.setAccessibleDescription(words)

    def problem(self) -> str:
        """What is said to be wrong."""
        return self._problem.text()

    def _wants_count(self) -> bool:
        """Whether a grid has to be told how many values to take."""
        low, high = self.low.value(), self.high.value()
        few = self._is_whole and low is not None and high is not None and high - low < _MOST_WHOLE
        return self._is_for_grid and self._is_range() and not few and self.scale.currentData() != "step"

    def _is_range(self) -> bool:
        return self._is_number and not self.boxes and self.how.current() == "range"

    def _make_end(self, name: str) -> NumberEdit:
        made = NumberEdit()
        made.setFixedWidth(_NUMBER_WIDTH)
        made.setAccessibleName(name)
        leave_undo_to_page(made)
        return made

    def _fill(self, text: str) -> None:
        parts = split_choices(text)
        if self.boxes:
            for choice, box in self.boxes.items():
                box.setChecked(choice in parts)
        elif len(parts) > 1 or not self._is_number:
            self.how.set_current("values")
            self.values.setText(" | ".join(parts) if len(parts) > 1 else text)
        elif text:
            low, high, scale, points = (*text.split(":"), "", "", "")[:4]
            self.low.setText(low)
            self.high.setText(high)
            kind, _, step = scale.partition("=")
            self.scale.setCurrentIndex(max(self.scale.findData(kind), 0))
            self.step.setText(step)
            self.points.setText(points)

    def _show_parts(self) -> None:
        self._choices.setVisible(bool(self.boxes))
        is_range = self._is_range()
        self._range.setVisible(is_range)
        has_step = self.scale.currentData() == "step"
        self.step.setVisible(has_step)
        self._grid.setVisible(self._is_for_grid and not has_step)
        self.values.setVisible(not is_range and not self.boxes)

    def _connect(self) -> None:
        def tell() -> None:
            self.edited.emit(self.path)

        def turn() -> None:
            self._show_parts()
            tell()

        for line in (self.low, self.high, self.step, self.points, self.values):
            line.textChanged.connect(tell)
        for box in self.boxes.values():
            box.toggled.connect(tell)
        self.scale.currentIndexChanged.connect(turn)
        self.how.current_changed.connect(turn)
