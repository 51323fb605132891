"""How busy the machine was with the run, over the time that was worked on it: also of a run that ended."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from studio.charts.plots.curve_plot import CurvePlot
from studio.charts.plots.shared_x import SharedX
from studio.charts.redraw_clock import RedrawClock
from studio.charts.time_axis import label_time
from studio.engine.state import LIVE, RunState
from studio.state.runs.shown_run import ShownRun
from studio.theme import SPACING
from studio.widgets import FlowLayout, in_widget, label, vbox
from training.events import AttemptStarted, Event
from training.runs.records.series import Rows

Floats = NDArray[np.float64]

_CELL, _HEIGHT = 300, 170
_TIME = "Time worked on the run"
_NONE_YET = "Curves of CPU, memory and the disk begin with the first steps."
_NONE = "No figures of the machine were recorded with this run."


class _Chart(NamedTuple):
    title: str
    curves: tuple[tuple[str, str], ...]  # column of the telemetry, word in the legend
    is_share: bool = False


_CHARTS = (
    _Chart("CPU, of all cores", (("cpu_share", ""),), is_share=True),
    _Chart("Waiting for data", (("wait_share", ""),), is_share=True),
    _Chart("Memory of the engine (MB)", (("memory_mb", ""),)),
    _Chart("Written to the disk (MB)", (("written_mb", ""),)),
    _Chart("GPU", (("gpu_share", "busy"), ("gpu_throttled", "held down")), is_share=True),
    _Chart("GPU memory (MB)", (("gpu_allocated_mb", "allocated"), ("gpu_memory_mb", "reserved"))),
)


class WorkClock:
    """Seconds worked on a run up to a moment: what lies between the last look at one attempt and the begin of the next counts not."""

    def __init__(self) -> None:
        self._starts: list[float] = []
        self._last: float | None = None
        self._worked = 0.0

    def begin_attempt(self, moment: float) -> None:
        """To be told before the looks at it; ``moment`` in seconds since 1970."""
        self._starts.append(moment)

    def is_older(self, moment: float) -> bool:
        """Whether ``moment`` lies before what was counted: the looks are told again."""
        return self._last is not None and moment < self._last

    def count(self, times: Floats) -> Floats:
        """The seconds of each look; ``times`` rise, and follow those of the last call."""
        starts = np.sort(np.asarray([-np.inf, *self._starts]))
        began = starts[np.searchsorted(starts, times, side="right") - 1]
        before = np.concatenate([[self._last if self._last is not None else -np.inf], times[:-1]])
        since = np.maximum(before, began)
        spent = np.where(np.isfinite(since), np.maximum(times - since, 0.0), 0.0)
        seconds = self._worked + np.cumsum(spent)
        self._last, self._worked = float(times[-1]), float(seconds[-1])
        return seconds

    def begin_again(self) -> None:
        """Count all looks once more."""
        self._last, self._worked = None, 0.0


class LoadCharts(QWidget):
    """Follows ``shown``. What was not measured has no chart."""

    def __init__(self, shown: ShownRun) -> None:
        super().__init__()
        self._clock = WorkClock()
        self._state = RunState.IDLE
        self._x_title = ""
        clock, shared_x = RedrawClock(self), SharedX(self)
        self.plots: dict[str, CurvePlot] = {}
        row = FlowLayout(spacing=SPACING.m, cell=_CELL)
        for chart in _CHARTS:
            plot = CurvePlot(chart.title, from_zero=True, clock=clock, shared_x=shared_x)
            plot.setFixedHeight(_HEIGHT)
            plot.set_titles({"": chart.title}, "", percent=chart.is_share)
            plot.fit_wanted.connect(plot.fit)
            for column, word in chart.curves:
                plot.add_curve(column, word)
            row.addWidget(plot)
            self.plots[chart.title] = plot
        self.words = label("", "help", wrap=True)
        self._charts = in_widget(row)
        vbox(self.words, self._charts, parent=self)
        shown.attached.connect(self.clear)
        shown.telemetry_arrived.connect(self.add_telemetry)
        shown.event_arrived.connect(self._on_event)
        shown.state_changed.connect(self._on_state_changed)
        self.clear()
        self._on_state_changed(shown.run.state)

    @Slot()
    def clear(self) -> None:
        """Another run."""
        self._clock = WorkClock()
        self._forget_rows()

    def _forget_rows(self) -> None:
        self._clock.begin_again()
        for plot in self.plots.values():
            plot.clear()
            plot.hide()
        self._say()

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        if isinstance(event, AttemptStarted):
            self._clock.begin_attempt(event.time)

    @Slot(object)
    def _on_state_changed(self, state: RunState) -> None:
        self._state = state
        for plot in self.plots.values():
            plot.set_growing(state in LIVE)
        self._say()

    @Slot(object)
    def add_telemetry(self, rows: Rows) -> None:
        """More looks at the engine, or all of them again where the run went back."""
        times = np.maximum.accumulate(rows["time"].astype(np.float64))  # a clock may be set back
        if self._clock.is_older(float(rows["time"][0])):
            self._forget_rows()
        seconds = self._clock.count(times)
        for chart in _CHARTS:
            plot = self.plots[chart.title]
            for column, _ in chart.curves:
                values = rows[column].astype(np.float64)
                if np.isfinite(values).any() and (values[np.isfinite(values)] > 0).any():
                    plot.show()
                plot.append(column, seconds, values)
            self._x_title = label_time(plot, _TIME, float(seconds[-1]))
        self._say()

    def _say(self) -> None:
        is_empty = all(plot.isHidden() for plot in self.plots.values())
        nothing = _NONE_YET if self._state in LIVE else _NONE
        self.words.setText(nothing if is_empty else f"x axis: {self._x_title[0].lower()}{self._x_title[1:]}.")
        self._charts.setVisible(not is_empty)
