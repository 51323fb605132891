"""The learning rate over the steps of a run that has not begun."""

from numpy.typing import ArrayLike
from PySide6.QtWidgets import QWidget

from studio.charts.plots.curve_plot import CurvePlot
from studio.widgets import vbox


class SchedulePreview(QWidget):
    """Draws the arrays it is given: whoever owns the schedule computes them."""

    def __init__(self) -> None:
        super().__init__()
        self.setMinimumHeight(150)
        self.plot = CurvePlot("", from_zero=True)
        self.plot.add_curve("lr", "Learning rate", 0, is_noisy=False)
        self.plot.fit_wanted.connect(self.plot.fit)
        vbox(self.plot, parent=self)
        self.set_message("The schedule is drawn here")

    def set_schedule(self, steps: ArrayLike, learning_rates: ArrayLike, *, label: str = "") -> None:
        """Draw learning rates (same length as `steps`); `label` is said to screen readers."""
        self.plot.set_curve("lr", steps, learning_rates)
        self.plot.fit()
        self.setAccessibleName(label or "Learning rate over the steps")

    def set_message(self, text: str) -> None:
        """Say something instead of drawing a curve, for example why there is none."""
        self.plot.clear()
        self.plot.set_empty_text(text)
        self.setAccessibleName(text)
