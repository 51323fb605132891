"""The gradient norm over the steps, with the clipping limit; or how the norms of the stretch in view are distributed."""

from __future__ import annotations

import math

import numpy as np
import pyqtgraph as pg
from numpy.typing import ArrayLike, NDArray
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QSizePolicy, QStackedLayout, QWidget

from studio.charts.histogram import Histogram
from studio.charts.plots.curve_plot import CurvePlot
from studio.charts.plots.shared_x import SharedX
from studio.charts.redraw_clock import RedrawClock
from studio.theme import Palette, set_role
from studio.widgets import ElidedLabel, format_number, hbox, in_widget, vbox
from training.runs.records.gradients import ClippedSteps, count_clipped, format_clipped, make_histogram

Floats = NDArray[np.float64]

_CURVE, _HISTOGRAM = "curve", "histogram"
_TITLES = {_CURVE: "Gradient norm", _HISTOGRAM: "Norm histogram"}
_WORTH_COUNTING = 0.01  # of the steps in view: as many new ones change what a histogram of them looks like
_MEANING = (
    "A step is clipped where the norm of its gradient, as drawn here, is above the limit (loop.clip_norm); skipped steps count neither "
    "way. A few percent is a safety net. Almost none: the limit does nothing. Almost all: it acts as a limit of the "
    "learning rate, which should be lower."
)


class _Tally:
    """How often a limit was met in a stretch of steps. One that grows at its end costs what is new."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """The norms are others now."""
        self._first = self._last = 0
        self._counted = ClippedSteps(0, 0, 0)

    def count(self, norms: Floats, limit: float, first: int, last: int) -> ClippedSteps:
        """Of the norms from index ``first`` up to, not including, ``last``."""
        if first != self._first or last < self._last:
            self.forget()
            self._first = self._last = first
        self._counted += count_clipped(norms[self._last : last], limit)
        self._last = last
        return self._counted


class GradientPlot(CurvePlot):
    """A `CurvePlot` of one quantity whose curve is named "grad_norm"."""

    def __init__(self, *, clock: RedrawClock | None = None, shared_x: SharedX | None = None) -> None:
        self._limit: float | None = None
        self._quantity = _CURVE
        self._own = 0.0  # the last step that another run has made
        self._shown, self._run = _Tally(), _Tally()
        self._counted = (0, 0)  # the stretch in the histogram
        self._zeros = 0  # norms in it that have no place there
        self.histogram = Histogram()
        self.histogram.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Ignored)
        self.words = ElidedLabel("", Qt.TextElideMode.ElideRight)
        self._limit_line = pg.InfiniteLine(angle=0)
        super().__init__("Gradient norm", clock=clock, shared_x=shared_x)
        self._limit_line.setZValue(4)
        self._limit_line.hide()
        self._canvas.view.addItem(self._limit_line, ignoreBounds=True)
        self._legend.set_titles(_TITLES, _CURVE)
        self._legend.title_chosen.connect(self.show_quantity)

    def set_limit(self, limit: float | None) -> None:
        """The norm above which steps are clipped; None where they are not."""
        if limit != self._limit:
            self._limit = self._scale.landmark = limit
            self._scale.forget_range()
            self._forget_counts()
            self._ask_for_redraw()

    def set_own_from(self, step: float) -> None:
        """The steps up to this one are another run's, which this one goes on from: they are in no share of the run."""
        self._own = step
        self._forget_counts()

    def show_quantity(self, key: str) -> None:
        """Show the "curve" or the "histogram"."""
        self._quantity = key
        self._forget_counts()
        self._ask_for_redraw()

    def truncate(self, x: float) -> None:
        self._forget_counts()
        super().truncate(x)

    def set_curve(self, name: str, x: ArrayLike, y: ArrayLike) -> None:
        self._forget_counts()
        super().set_curve(name, x, y)

    def set_growing(self, on: bool) -> None:
        self._counted = (0, 0)  # the last steps, too, few as they may be
        super().set_growing(on)

    def set_theme(self, palette: Palette) -> None:
        self._limit_line.setPen(pg.mkPen(QColor(palette.warning), width=1, style=Qt.PenStyle.DashLine))
        super().set_theme(palette)

    def draw(self) -> None:
        """As `CurvePlot.draw`, with the limit, and what it did to the steps in view."""
        super().draw()
        steps, norms, first, last = self._stretch()
        self._stack.setCurrentIndex(int(self._quantity == _HISTOGRAM and len(norms) > 0))
        if self._stack.currentIndex():
            self._draw_histogram(steps, norms, first, last)
        height = self._scale.place(self._limit) if self._limit else math.nan
        self._limit_line.setVisible(self._scale.bottom < height < self._scale.top)
        if self._limit_line.isVisible():
            self._limit_line.setPos(height)
        text = self._describe(steps, norms, first, last)
        if text != self.words.text():
            self.words.setText(text)
            self._told.setVisible(bool(text))

    def _stretch(self) -> tuple[Floats, Floats, int, int]:
        """All steps and norms, and which of them are in view."""
        series = self._curves["grad_norm"].series.raw if "grad_norm" in self._curves else None
        steps, norms = (series.x, series.y) if series is not None else (np.empty(0), np.empty(0))
        first = int(np.searchsorted(steps, self._shared_x.first, "left"))
        last = int(np.searchsorted(steps, self._shared_x.last, "right"))
        return steps, norms, first, last

    def _describe(self, steps: Floats, norms: Floats, first: int, last: int) -> str:
        if last <= first:
            return ""
        zeros = f", {self._zeros:,} of norm 0" if self._zeros and self._stack.currentIndex() else ""
        if self._limit is None:
            return f"Steps {_span(steps, first, last)}{zeros}" if self._stack.currentIndex() else ""
        own = int(np.searchsorted(steps, self._own, "right"))
        run = self._run.count(norms, self._limit, own, len(norms))
        above = f"Clipped (norm > {format_number(self._limit)})"
        if first == own and last == len(norms) and run.made:
            skipped = f", {run.skipped:,} skipped" if run.skipped else ""
            return f"{above} in {format_clipped(run)} of all {run.made:,} steps{skipped}{zeros}"
        shown = self._shown.count(norms, self._limit, first, last)
        skipped = f", {shown.skipped:,} skipped" if shown.skipped else ""
        rest = f"; in {format_clipped(run)} of the run" if run.made else ""
        return f"{above} in {format_clipped(shown)} of steps {_span(steps, first, last)}{skipped}{zeros}{rest}"

    def _draw_histogram(self, steps: Floats, norms: Floats, first: int, last: int) -> None:
        before, until = self._counted
        if first == before and 0 <= last - until < max((last - first) * _WORTH_COUNTING, 1):
            return
        self._counted = first, last
        found = make_histogram(norms[first:last], self._limit)
        self._zeros = found.zeros
        name = f"Gradient norms of steps {_span(steps, first, last)}" if last > first else "No step in view"
        mark = None
        if self._limit is not None and found.edges:
            mark = min(range(len(found.edges)), key=lambda at: abs(math.log(found.edges[at] / (self._limit or 1.0))))
        self.histogram.set_bins(name, found.edges, found.counts, mark)

    def _forget_counts(self) -> None:
        self._shown.forget()
        self._run.forget()
        self._counted = (0, 0)

    def _lay_out(self) -> None:
        set_role(self.words, "caption")
        self._told = in_widget(hbox((self.words, 1)))
        self._told.setToolTip(_MEANING)
        self._told.hide()
        shown = QWidget()
        self._stack = QStackedLayout(shown)
        self._stack.setContentsMargins(0, 0, 0, 0)
        self._stack.addWidget(self._area)
        self._stack.addWidget(self.histogram)
        vbox(self._legend, self._told, (shown, 1), parent=self, spacing=4)


def _span(steps: Floats, first: int, last: int) -> str:
    return f"{steps[first]:,.0f}–{steps[last - 1]:,.0f}"
