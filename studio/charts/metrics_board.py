"""The curves of a run: loss, a metric, gradient norm and learning rate, on one x axis, with one cursor."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike
from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QGridLayout, QWidget

from studio.charts.gestures import TIP
from studio.charts.plots.curve import Line
from studio.charts.plots.curve_plot import CurvePlot
from studio.charts.plots.gradient_plot import GradientPlot
from studio.charts.plots.marker_key import MarkerKey
from studio.charts.plots.markers import MARKER_WORDS, MarkerKind
from studio.charts.plots.shared_x import SharedX
from studio.charts.redraw_clock import RedrawClock
from studio.charts.smoothing_slider import SmoothingSlider
from studio.theme import SPACING
from studio.widgets import Segmented, Switch, button, hbox, label, vbox

_CURVES = (
    ("train/loss", "Training", "loss", 0, True),
    ("val/loss", "Validation", "loss", 1, False),
    ("val/metric", "Validation", "metric", 1, False),
    ("lr", "LR", "lr", 2, False),
    ("grad_norm", "Grad norm (pre-clip)", "grad_norm", 3, True),
)
"""Name, word in the legend, plot, number of the color, whether it is noisy."""

_FADED_WORDS = {name: "Before rewind" for name, *_ in _CURVES if name != "val/loss"}  # once in each plot
_NOTHING: Line = np.empty(0), np.empty(0)

_FIT = f"Show all steps and follow new ones; pressed again, the spikes too\n\n{TIP}"


class MetricsBoard(QWidget):
    """Four linked plots and a row of tools.

    Curves are named "train/loss", "val/loss", "val/metric", "lr" and "grad_norm"; `add_curve` adds others to one of the plots.

    Signals: `marker_clicked(key)`; `view_changed()` when smoothing, scale or axis was chosen.
    """

    marker_clicked = Signal(object)
    view_changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        clock = RedrawClock(self)
        shared_x = SharedX(self)
        self.gradients = GradientPlot(clock=clock, shared_x=shared_x)
        self._plots: dict[str, CurvePlot] = {
            "loss": CurvePlot("Loss", clock=clock, shared_x=shared_x),
            "metric": CurvePlot("Metric", clock=clock, shared_x=shared_x),
            "grad_norm": self.gradients,
            "lr": CurvePlot("Learning rate", from_zero=True, clock=clock, shared_x=shared_x),
        }
        self._home: dict[str, CurvePlot] = {}
        self._faded = 0  # stretches that there are curves for
        self._steps_per_epoch: float | None = None
        self._build_tools()
        self._lay_out()
        for plot in self._plots.values():
            plot.marker_clicked.connect(self.marker_clicked)
            plot.fit_wanted.connect(self._on_fit_wanted)
        for name, word, home, color_index, is_noisy in _CURVES:
            self.add_curve(name, word, plot=home, color_index=color_index, is_noisy=is_noisy)
        self.set_empty_text("Nothing to draw yet")

    # ------------------------------------------------------------------ data

    def add_curve(
        self, name: str, label: str, *, plot: str = "loss", color_index: int | None = None, is_noisy: bool = True
    ) -> None:
        """Add a curve to the plot "loss", "metric", "lr" or "grad_norm", once for each name; only a noisy one is ever smoothed."""
        self._home[name] = self._plots[plot]
        self._home[name].add_curve(name, label, color_index, is_noisy=is_noisy)

    def append(self, name: str, x: ArrayLike, y: ArrayLike) -> None:
        """Add samples to a curve's end. Raises KeyError for an unknown curve, ValueError when x falls."""
        self._home[name].append(name, x, y)

    def set_curve(self, name: str, x: ArrayLike, y: ArrayLike) -> None:
        """Replace all samples of a curve."""
        self._home[name].set_curve(name, x, y)

    def set_faded(self, stretches: Sequence[Mapping[str, Line]]) -> None:
        """Draw these behind the curves, faded, in the place of those before: of each stretch, the samples of curves by name."""
        while self._faded < len(stretches):
            for name, _, home, color_index, is_noisy in _CURVES:
                faded, word = f"{name} {self._faded}", "" if self._faded else _FADED_WORDS.get(name, "")
                self._home[faded] = self._plots[home]
                self._home[faded].add_curve(faded, word, color_index, is_noisy=is_noisy, is_faded=True)
            self._faded += 1
        for number in range(self._faded):
            samples = stretches[number] if number < len(stretches) else {}
            for name, *_ in _CURVES:
                self.set_curve(f"{name} {number}", *samples.get(name, _NOTHING))

    def truncate(self, step: float) -> None:
        """Drop samples and markers beyond `step`: a resumed run goes on from there. What is faded stays."""
        for plot in self._plots.values():
            plot.truncate(step)
        self._name_markers()

    def clear(self) -> None:
        """Drop all samples and markers."""
        for plot in self._plots.values():
            plot.clear()
        self._name_markers()
        self.fit()

    def add_marker(self, kind: MarkerKind, step: float, text: str, key: object) -> None:
        """Mark a step: checkpoints and the best one on the loss, drops of the rate on the rate, events and resumes across all
        plots."""
        home = "lr" if kind == "drop" else "loss"
        for quantity, plot in self._plots.items():
            if quantity == home or kind in ("event", "resume"):
                plot.add_marker(kind, step, text, key)
        self._name_markers()

    def mark_finding(
        self, home: str, kind: MarkerKind, step: float, text: str, key: object, until: float | None
    ) -> None:
        """Mark on one plot where something was found, or the stretch of steps in which it held."""
        self._plots[home].add_marker(kind, step, text, key, until)
        self._name_markers()

    def remove_marker(self, key: object) -> None:
        """Take a marker away."""
        for plot in self._plots.values():
            plot.remove_marker(key)
        self._name_markers()

    def _name_markers(self) -> None:
        """Say what the markers mean, of the kinds that there are."""
        there = [plot.marker_counts for plot in self._plots.values()]
        self.marker_key.show_kinds([kind for kind in MARKER_WORDS if any(counts[kind] for counts in there)])

    # ------------------------------------------------------------------ look

    def plot(self, quantity: str) -> CurvePlot:
        """One of the plots: "loss", "metric", "lr" or "grad_norm"."""
        return self._plots[quantity]

    def plots(self) -> list[CurvePlot]:
        """All of them."""
        return list(self._plots.values())

    def fit(self) -> None:
        """Show all steps and follow new data again; single spikes may lie beyond the range."""
        for plot in self._plots.values():
            plot.fit()

    def set_growing(self, on: bool) -> None:
        """Whether more data are to come, for which the x axis keeps room."""
        for plot in self._plots.values():
            plot.set_growing(on)

    def set_empty_text(self, text: str) -> None:
        """What stands in the plots while there is nothing to draw."""
        for plot in self._plots.values():
            plot.set_empty_text(text)

    def refresh(self) -> None:
        """Draw what there is now, without waiting for the clock."""
        for plot in self._plots.values():
            plot.prepare()
        for plot in self._plots.values():
            plot.draw()

    def set_steps_per_epoch(self, steps: float | None) -> None:
        """Let the person count the x axis in epochs; None takes the choice away."""
        self._steps_per_epoch = steps if steps else None
        self._axis.setVisible(self._steps_per_epoch is not None)
        self._label_x()

    def smoothing(self) -> float:
        """The weight of the exponential average, 0 for none."""
        return self._smoothing.weight()

    def set_smoothing(self, weight: float) -> None:
        """Choose the slider's stop that is nearest to `weight`."""
        self._smoothing.set_weight(weight)

    def log_scale(self) -> bool:
        """Whether the loss and the gradient norm are drawn on a logarithmic axis."""
        return self._log.isChecked()

    def set_log_scale(self, on: bool) -> None:
        """Draw the loss and the gradient norm on a logarithmic axis or not."""
        self._log.setChecked(on)

    def _build_tools(self) -> None:
        self._smoothing = SmoothingSlider("exponential average")
        self._smoothing.setMinimumWidth(60)
        self._smoothing.setMaximumWidth(130)
        self._smoothing.valueChanged.connect(self._on_smoothing_moved)
        self._log = Switch("Log scale")
        self._log.toggled.connect(self._on_log_toggled)
        self._axis = Segmented([("step", "Steps"), ("epoch", "Epochs")])
        self._axis.setAccessibleName("Horizontal axis")
        self._axis.hide()
        self._axis.current_changed.connect(self._on_axis_chosen)
        self.marker_key = MarkerKey()
        self._fit = button("Fit", "fit", "ghost", tooltip=_FIT, clicked=self._on_fit_wanted)

    def _lay_out(self) -> None:
        tools = hbox(
            label("Smoothing", "caption"),
            (self._smoothing, 1),
            self._smoothing.reading,
            SPACING.s,
            self._log,
            SPACING.s,
            (self.marker_key, 2),
            self._axis,
            self._fit,
        )
        column = vbox(tools, parent=self, spacing=SPACING.m)
        grid = QGridLayout()
        grid.setSpacing(SPACING.m)
        for at, plot in enumerate(self._plots.values()):
            grid.addWidget(plot, at // 2, at % 2)
        for at, share in enumerate((3, 2)):
            grid.setColumnStretch(at, share)
            grid.setRowStretch(at, share)
        column.addLayout(grid, 1)

    def sizeHint(self) -> QSize:
        return QSize(640, 340)

    def _label_x(self) -> None:
        by_epoch = self._steps_per_epoch is not None and self._axis.current() == "epoch"
        for plot in self._plots.values():
            if by_epoch and self._steps_per_epoch:
                plot.set_x_label("Epoch", 1.0 / self._steps_per_epoch)
            else:
                plot.set_x_label("Step")

    def _on_smoothing_moved(self) -> None:
        for plot in (self._plots["loss"], self._plots["grad_norm"]):
            plot.set_smoothing(self.smoothing())
        self.view_changed.emit()

    def _on_log_toggled(self, on: bool) -> None:
        for plot in (self._plots["loss"], self._plots["grad_norm"]):
            plot.set_log(on)
        self.view_changed.emit()

    def _on_fit_wanted(self) -> None:
        spikes = all(plot.is_fitted() for plot in self._plots.values())
        for plot in self._plots.values():
            plot.fit(spikes=spikes)

    def _on_axis_chosen(self) -> None:
        self._label_x()
        self.view_changed.emit()
