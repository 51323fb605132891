"""The views of a sweep: curves of all trials, importances, parallel coordinates, slices. Each shows the same trial as chosen."""

from __future__ import annotations

import math
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from studio.charts.parallel_axes import AxisValues, ParallelAxes
from studio.charts.plots.curve_plot import CurvePlot
from studio.charts.slice_plot import BEST_COLOR, CHOSEN_COLOR, OTHER_COLOR, SlicePlot, SlicePoint, SliceScale
from studio.forms.messages import as_sentence
from studio.pages.studies.sweeps.names import SettingNames
from studio.state.formats import format_metric, metric_title
from studio.theme import SPACING, theme
from studio.widgets import STRETCH, Bar, BarList, FlowLayout, in_widget, label, scroll_area, vbox
from training.metric_names import is_share
from training.sweeps.dimension import Dimension, Value
from training.sweeps.records import SweepRecord, TrialRecord

_BEST, _CHOSEN = "best", "chosen"
_SLICE = 280  # pixels wide, at least
_LOWEST, _HIGHEST = 190, 460
_NO_VALUES = "No trial has a result yet."


def _place(names: SettingNames, dimension: Dimension, value: Value) -> Value:
    """What stands on an axis: numbers as they are, choices as the forms call them."""
    return names.tell(dimension, value) if dimension.sort == "choice" else value


class SweepView(QWidget):
    """Base. Signals: `trial_pressed(int)`, the number of a trial."""

    trial_pressed = Signal(int)

    def show_record(self, record: SweepRecord, names: SettingNames, chosen: int | None) -> None:
        """Draw the sweep as it is now."""
        raise NotImplementedError

    def mark(self, chosen: int | None) -> None:
        """Show another trial as chosen, or none."""


class CurvesView(SweepView):
    """The monitored metric at each validation: pruned trials pale, the best and the chosen one in front."""

    def __init__(self) -> None:
        super().__init__()
        self.plot = CurvePlot("Trials")
        self.plot.set_empty_text("No trial was validated yet.")
        self.plot.add_curve(_BEST, "Best trial", BEST_COLOR, is_noisy=False)
        self.plot.add_curve(_CHOSEN, "Chosen trial", CHOSEN_COLOR, is_noisy=False)
        self.plot.point_clicked.connect(self._on_clicked)
        self.plot.fit_wanted.connect(self.plot.fit)
        self._record: SweepRecord | None = None
        self._drawn: dict[str, tuple[bool, tuple[tuple[int, float], ...]]] = {}
        vbox((self.plot, 1), parent=self)

    def show_record(self, record: SweepRecord, names: SettingNames, chosen: int | None) -> None:
        if self._record is None or self._record.sweep.path != record.sweep.path:
            for name in self._drawn:
                self.plot.remove_curve(name)
            self._drawn.clear()
        self._record = record
        repeated = record.sweep.repeats > 1
        self.plot.set_x_label("Seed" if repeated else "Validation")
        title = f"{as_sentence(metric_title(record.sweep.metric))}{' of each seed' if repeated else ''}"
        self.plot.set_titles({title: title}, title, percent=is_share(record.sweep.metric))
        for trial in record.trials:
            self._draw(trial)
        self._draw_front(_BEST, record.best)
        self.plot.set_growing(any(trial.alive for trial in record.trials))
        self.mark(chosen)

    def mark(self, chosen: int | None) -> None:
        is_best = self._record is not None and chosen == self._record.best
        self._draw_front(_CHOSEN, None if is_best else chosen)

    def _draw(self, trial: TrialRecord) -> None:
        name, look = str(trial.number), (trial.state == "pruned", trial.curve)
        if self._drawn.get(name) == look:
            return
        if name in self._drawn and self._drawn[name][0] != look[0]:
            self.plot.remove_curve(name)
            del self._drawn[name]
        if name not in self._drawn:
            paler = 2 * len(theme().palette.curves) if look[0] else 0
            self.plot.add_curve(name, "", OTHER_COLOR + paler, is_noisy=False, is_faded=True)
        self._drawn[name] = look
        self._fill(name, trial)

    def _draw_front(self, name: str, number: int | None) -> None:
        trials = self._record.trials if self._record else ()
        self._fill(name, trials[number] if number is not None and number < len(trials) else None)

    def _fill(self, name: str, trial: TrialRecord | None) -> None:
        curve = trial.curve if trial is not None else ()
        self.plot.set_curve(name, [float(step) for step, _ in curve], [value for _, value in curve])

    def _on_clicked(self, name: str, _x: float) -> None:
        if name == _BEST and self._record is not None and self._record.best is not None:
            self.trial_pressed.emit(self._record.best)
        elif name.isdigit():
            self.trial_pressed.emit(int(name))


class ImportanceView(SweepView):
    """How much of the result each setting decides."""

    def __init__(self) -> None:
        super().__init__()
        self.bars = BarList(max_rows=14, full=1.0)
        self.bars.setAccessibleName("Importance of settings")
        self.note = label("", "help", wrap=True)
        self._source = label(
            "By PED-ANOVA: which setting tells the best trials from the others. Settings that went together share what either did.",
            "caption",
            wrap=True,
        )
        inside = in_widget(vbox(self.note, self.bars, self._source, STRETCH, spacing=SPACING.m, margins=SPACING.s))
        vbox((scroll_area(inside, "Importance of settings"), 1), parent=self)

    def show_record(self, record: SweepRecord, names: SettingNames, chosen: int | None) -> None:
        self.bars.set_bars(
            [
                Bar(names.titles.get(path, path), share, f"{share:.0%}", path)
                for path, share in record.importances.items()
            ]
        )
        for part in (self.bars, self._source):
            part.setVisible(bool(record.importances))
        self.note.setText(record.importance_note)
        self.note.setVisible(bool(record.importance_note))


class ParallelView(SweepView):
    """A line for each trial through its settings to its result."""

    def __init__(self) -> None:
        super().__init__()
        self.axes = ParallelAxes()
        self.axes.line_pressed.connect(lambda row: self.trial_pressed.emit(self._numbers[row]))
        self._numbers: list[int] = []
        self._note = label(_NO_VALUES, "help")
        self._area = scroll_area(self.axes, "Parallel coordinates")
        vbox(self._note, (self._area, 1), parent=self)

    def show_record(self, record: SweepRecord, names: SettingNames, chosen: int | None) -> None:
        shown = [trial for trial in record.trials if trial.value is not None]
        self._numbers = [trial.number for trial in shown]
        axes = [
            AxisValues(
                names.titles[each.path],
                tuple(
                    _place(names, each, trial.params[each.path]) if each.path in trial.params else None
                    for trial in shown
                ),
            )
            for each in record.sweep.space.dimensions
        ]
        read = partial(format_metric, record.sweep.metric)
        result = AxisValues(as_sentence(metric_title(record.sweep.metric)), tuple(trial.value for trial in shown), read)
        colors = [BEST_COLOR if trial.number == record.best else OTHER_COLOR for trial in shown]
        pale = {row for row, trial in enumerate(shown) if trial.state == "pruned"}
        called = [f"Trial {trial.number}{' (pruned)' if trial.state == 'pruned' else ''}" for trial in shown]
        self.axes.show_runs([*axes, result] if shown else [], called, colors, pale)
        self._note.setVisible(not shown)
        self.mark(chosen)

    def mark(self, chosen: int | None) -> None:
        self.axes.mark(self._numbers.index(chosen) if chosen in self._numbers else None)


class SlicesView(SweepView):
    """A chart for each setting: its values against the result."""

    def __init__(self) -> None:
        super().__init__()
        self.plots: dict[str, SlicePlot] = {}
        self._flow = FlowLayout(spacing=SPACING.m, cell=_SLICE)
        self._note = label(_NO_VALUES, "help")
        vbox(self._note, (scroll_area(in_widget(vbox(self._flow, STRETCH)), "Results by setting"), 1), parent=self)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._share_height()

    def _share_height(self) -> None:
        """All lines of charts fill the height, as far as they can still be read."""
        columns = max((self.width() + SPACING.m) // (_SLICE + SPACING.m), 1)
        lines = max(math.ceil(len(self.plots) / columns), 1)
        room = (self.height() - SPACING.m * lines) // lines
        for plot in self.plots.values():
            plot.setFixedHeight(min(max(room, _LOWEST), _HIGHEST))

    def show_record(self, record: SweepRecord, names: SettingNames, chosen: int | None) -> None:
        dimensions = {each.path: each for each in record.sweep.space.dimensions}
        for path in [path for path in self.plots if path not in dimensions]:
            plot = self.plots.pop(path)
            self._flow.removeWidget(plot)
            plot.deleteLater()
        valued = [trial for trial in record.trials if trial.value is not None]
        for path, each in dimensions.items():
            if path not in self.plots:
                self.plots[path] = SlicePlot()
                self.plots[path].point_pressed.connect(self.trial_pressed)
                self._flow.addWidget(self.plots[path])
            points = [
                SlicePoint(trial.number, _place(names, each, trial.params[path]), trial.value, trial.state == "pruned")
                for trial in valued
                if path in trial.params and trial.value is not None
            ]
            choices = tuple(names.tell(each, choice) for choice in each.choices)
            scale = SliceScale(names.titles[path], each.low, each.high, each.log, choices)
            self.plots[path].setAccessibleDescription(path)
            result, read = as_sentence(metric_title(record.sweep.metric)), partial(format_metric, record.sweep.metric)
            self.plots[path].show_points(scale, result, points, record.best, read)
        self._note.setVisible(not valued)
        self._share_height()
        self.mark(chosen)

    def mark(self, chosen: int | None) -> None:
        for plot in self.plots.values():
            plot.mark(chosen)
