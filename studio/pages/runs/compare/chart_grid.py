"""The charts of a comparison: two beside each other where there is room, over one x axis, with one cursor."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QWidget

from studio.charts.plots.curve_plot import CurvePlot
from studio.charts.plots.shared_x import SharedX
from studio.charts.redraw_clock import RedrawClock
from studio.charts.time_axis import label_time
from studio.panels.charts.chart_menu import ChartMenu
from studio.state.context import AppContext
from studio.state.formats import metric_title
from studio.theme import SPACING
from studio.widgets import Card, scroll_area, vbox
from training.metric_names import CURVE_TITLES
from training.runs.comparison.compared_run import Axis

_CHART, _LEAST_CHART = 240, 150  # pixels high: in a low window one is seen whole all the same
_AROUND = 2 * SPACING.l  # the edges of its card
_TWO_BESIDE = 760  # pixels wide
_AXIS_TITLES: dict[Axis, str] = {"step": "Step", "epoch": "Epoch", "samples": "Sample"}


def title_curve(name: str) -> str:
    """What a chart of this quantity is called."""
    if name in CURVE_TITLES:
        return CURVE_TITLES[name]
    if name.startswith(("parts/", "layers/")):
        return name.replace("/", " · ", 1)
    title = metric_title(name)
    return title[:1].upper() + title[1:]


class ChartGrid(QWidget):
    """``plots`` by quantity. Charts are made one in a turn of events, while ``later`` is active: the first is seen, and the window
    answers, before the last is there.

    Signals: `added(name)`: a chart was made, without curves; `point_clicked(name, curve, x)`.
    """

    added = Signal(str)
    point_clicked = Signal(str, str, float)

    def __init__(self, context: AppContext) -> None:
        super().__init__()
        self._context = context
        self._clock, self.shared_x = RedrawClock(self), SharedX(self)
        self.plots: dict[str, CurvePlot] = {}
        self._names: Sequence[str] = ()
        self._cards: dict[str, Card] = {}
        self._placed: tuple[list[Card], int] = [], 0  # and in how many columns
        self._axis: Axis = "step"
        self._words, self._is_log = "", False
        self.later = QTimer(self, interval=0, singleShot=True)
        self.later.timeout.connect(self._add_next)
        inside = QWidget()
        self._grid = QGridLayout(inside)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(SPACING.m)
        self._area = scroll_area(inside, "Curves of the compared runs")
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        vbox((self._area, 1), parent=self)

    def show_charts(self, names: Sequence[str]) -> None:
        """Show a chart for each of these quantities, and no others."""
        self._names = names
        for name in [name for name in self.plots if name not in names]:
            self.plots.pop(name).forget_shared_x()
            self._cards.pop(name).deleteLater()
        self._add_next()

    def set_axis(self, axis: Axis) -> None:
        """Say what the x axis counts; all is shown where that is something else than before."""
        if axis != self._axis:
            self._axis = axis
            self.shared_x.fit()
        for plot in self.plots.values():
            if axis == "time":
                label_time(plot, "Training time", self.shared_x.reach())
            else:
                plot.set_x_label(_AXIS_TITLES[axis], 1.0)
                plot.set_whole_x(axis in ("step", "samples"))

    def set_log(self, on: bool) -> None:
        """Draw losses and norms on a logarithmic axis."""
        self._is_log = on
        for name, plot in self.plots.items():
            if _may_be_log(name):
                plot.set_log(on)

    def set_empty_text(self, text: str) -> None:
        """What stands in charts without a curve."""
        self._words = text
        for plot in self.plots.values():
            plot.set_empty_text(text)

    def fit(self) -> None:
        """Show all steps; pressed again, the spikes, too."""
        spikes = all(plot.is_fitted() for plot in self.plots.values())
        for plot in self.plots.values():
            plot.fit(spikes=spikes)

    @Slot()
    def _add_next(self) -> None:
        missing = [name for name in self._names if name not in self.plots]
        if missing:
            self._add(missing[0])
            self.set_axis(self._axis)
        self._place()
        if len(missing) > 1:
            self.later.start()

    def _add(self, name: str) -> None:
        title = title_curve(name)
        plot = CurvePlot(title, clock=self._clock, shared_x=self.shared_x)
        plot.set_log(self._is_log and _may_be_log(name))
        plot.set_empty_text(self._words)
        plot.fit_wanted.connect(self.fit)
        plot.point_clicked.connect(partial(self.point_clicked.emit, name))
        ChartMenu(plot, self._context, name=lambda: "comparison", title=title)
        card = Card()
        card.add((plot, 1))
        self.plots[name], self._cards[name] = plot, card
        self.added.emit(name)

    def _place(self) -> None:
        cards = [self._cards[name] for name in self._names if name in self.plots]
        columns = 2 if self._area.viewport().width() >= _TWO_BESIDE and len(cards) > 1 else 1
        if (cards, columns) != self._placed:
            self._placed = cards, columns
            for at, card in enumerate(cards):
                self._grid.addWidget(card, at // columns, at % columns)
            for column in (0, 1):
                self._grid.setColumnStretch(column, int(column < columns))
        height = max(min(_CHART, self._area.viewport().height() - _AROUND), _LEAST_CHART)
        for plot in self.plots.values():
            plot.setMinimumHeight(height)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()


def _may_be_log(name: str) -> bool:
    return "loss" in name or "norm" in name or name.startswith(("parts/", "layers/"))
