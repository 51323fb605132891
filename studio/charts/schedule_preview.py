"""The learning rate over the steps of a run that has not begun."""

from numpy.typing import ArrayLike
from PySide6.QtWidgets import QVBoxLayout, QWidget

from studio.charts.curve_plot import CurvePlot


class SchedulePreview(QWidget):
    """Draws the arrays it is given: whoever owns the schedule computes them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setMinimumHeight(150)
        self._plot = CurvePlot("", from_zero=True)
        self._plot.add_curve("lr", "Learning rate", 0, is_noisy=False)
        self._plot.fit_wanted.connect(self._plot.fit)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._plot)
        self.set_message("The schedule is drawn here")

    def set_schedule(self, steps: ArrayLike, learning_rates: ArrayLike, *, label: str = "") -> None:
        """Draw learning rates (same length as `steps`); `label` is said to screen readers."""
        self._plot.set_curve("lr", steps, learning_rates)
        self._plot.fit()
        self.setAccessibleName(label or "Learning rate over the steps")

    def set_message(self, text: str) -> None:
        """Say something instead of drawing a curve, for example why there is none."""
        self._plot.clear()
        self._plot.set_empty_text(text)
        self.setAccessibleName(text)
