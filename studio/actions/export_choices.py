"""What may be chosen about an exported model: the temperature of its probabilities, its threshold, int8."""

from __future__ import annotations

from typing import Literal, NamedTuple

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QWidget

from studio.theme import SPACING
from studio.widgets import ComboBox, NumberEdit, hbox, label, vbox
from training.statistics.calibration import COLDEST, HOTTEST

_FITTED, _NUMBER = "fitted", "number"
_WIDTH = 90


class Answers(NamedTuple):
    """Of the model that is exported: whether it answers with probabilities, and the threshold it was trained with, None where its answers
    depend on none. ``dragged`` are those that the Evaluate tab shows now, one or one for each label; none where nobody moved any."""

    has_probabilities: bool = False
    threshold: float | None = None
    dragged: tuple[float, ...] = ()


class NumberChoice(QWidget):
    """A list of ways, the last of which is a number that is typed beside it.

    Signals: `changed()`.
    """

    changed = Signal()

    def __init__(
        self, title: str, ways: list[tuple[str, str]], last: str, number: float, bounds: tuple[float, float]
    ) -> None:
        """``ways`` are (key, words), ``last`` the words of the one that asks for a number; ``bounds`` are what the number has to lie between, both excluded."""
        super().__init__()
        self._keys = [key for key, _ in ways] + [_NUMBER]
        self._bounds = bounds
        self.ways = ComboBox()
        self.ways.setAccessibleName(title)
        self.ways.addItems([words for _, words in ways])
        self.ways.addItem(last)
        self.number = NumberEdit("float", minimum=bounds[0], maximum=bounds[1])
        self.number.setText(f"{number:.4g}")
        self.number.setAccessibleName(f"{title}, a number")
        self.number.setFixedWidth(_WIDTH)
        heading = label(title, "field")
        heading.setBuddy(self.ways)
        self._problem = label("", "problem", wrap=True)
        column = vbox(heading, hbox((self.ways, 1), self.number), self._problem, parent=self, margins=(0, 0, 0, 0))
        column.setSpacing(SPACING.xs)
        self.ways.currentIndexChanged.connect(self._update)
        self.number.textChanged.connect(self._update)
        self._update()

    @property
    def key(self) -> str:
        """The way that is chosen."""
        return self._keys[self.ways.currentIndex()]

    def is_complete(self) -> bool:
        """Whether the number, where one is asked for, is one that can be used."""
        return self.key != _NUMBER or not self._find_problem()

    def _find_problem(self) -> str:
        value, (low, high) = self.number.value(), self._bounds
        if value is None:
            return self.number.problem()
        return "" if low <= value <= high else f"Enter a number from {low:g} to {high:g}."

    @Slot()
    def _update(self) -> None:
        asks = self.key == _NUMBER
        self.number.setVisible(asks)
        problem = self._find_problem() if asks else ""
        self._problem.setText(problem)
        self._problem.setVisible(bool(problem))
        self.changed.emit()


class TemperatureChoice(NumberChoice):
    """Whether scores are divided before they become probabilities."""

    def __init__(self) -> None:
        ways = [
            ("", "As the network gives them"),
            (_FITTED, "Calibrated: the temperature that fits the validation part"),
        ]
        super().__init__("Probabilities", ways, "Of scores divided by a temperature", 1.0, (COLDEST, HOTTEST))
        self.ways.setToolTip(
            "Scores are divided by the temperature (see Calibration on the tab Evaluate); the answers stay the same."
        )

    def value(self) -> Literal["auto"] | float | None:
        """As ``ExportRequest.temperature``."""
        return {"": None, _FITTED: "auto"}.get(self.key, self.number.value())


class ThresholdChoice(NumberChoice):
    """From which probability on the answer is yes."""

    def __init__(self, answers: Answers) -> None:
        own = 0.5 if answers.threshold is None else answers.threshold
        self._dragged = answers.dragged
        ways = [("", f"The run's own, {own:g}"), (_FITTED, "The best F1 on the validation part")]
        if answers.dragged:
            shown = ", ".join(f"{each:.4g}" for each in answers.dragged[:4]) + (
                ", ..." if len(answers.dragged) > 4 else ""
            )
            ways.append(("dragged", f"As on the tab Evaluate, {shown}"))
        super().__init__("Threshold", ways, "A number", own, (1e-6, 1.0 - 1e-6))

    def value(self) -> Literal["auto"] | tuple[float, ...] | None:
        """As ``ExportRequest.threshold``."""
        if self.key == _NUMBER:
            number = self.number.value()
            return None if number is None else (float(number),)
        ways: dict[str, Literal["auto"] | tuple[float, ...] | None] = {
            "": None,
            _FITTED: "auto",
            "dragged": self._dragged,
        }
        return ways[self.key]
