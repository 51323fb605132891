"""A slider for the weight of the average that curves are smoothed by."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel

from studio.widgets import Slider, label

# Finest where it matters: 0.9, 0.99, 0.999 look as different as 0 and 0.9.
_WEIGHTS = (0.0, 0.3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999)


class SmoothingSlider(Slider):
    """``reading`` says the weight, and belongs beside it."""

    def __init__(self, average: str) -> None:
        """``average``: what the weight is of."""
        super().__init__()
        self.setRange(0, len(_WEIGHTS) - 1)
        self.setAccessibleName("Smoothing")
        self.setToolTip(f"Weight of the {average}; the raw values stay visible behind it")
        self.reading: QLabel = label("Off", "caption")
        self.reading.setMinimumWidth(self.reading.fontMetrics().horizontalAdvance("0.999") + 4)
        self.valueChanged.connect(self._say_weight)

    def weight(self) -> float:
        """The weight, 0 for none."""
        return _WEIGHTS[self.value()]

    def set_weight(self, weight: float) -> None:
        """Choose the stop that is nearest to ``weight``."""
        self.setValue(min(range(len(_WEIGHTS)), key=lambda at: abs(_WEIGHTS[at] - weight)))

    def _say_weight(self) -> None:
        self.reading.setText(f"{self.weight():g}" if self.weight() else "Off")
