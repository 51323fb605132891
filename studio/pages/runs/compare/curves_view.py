"""The curves of compared runs: a chart for each quantity, a curve for each run or group, one x axis and one cursor for all."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QMenu, QWidget

from studio.charts.plots.curve_plot import CurvePlot
from studio.charts.plots.shared_x import SharedX
from studio.charts.redraw_clock import RedrawClock
from studio.charts.series import Series
from studio.charts.ticks import reading
from studio.pages.runs.compare.look_bar import LookBar
from studio.pages.runs.compare.run_legend import RunLegend
from studio.panels.charts.chart_menu import ChartMenu
from studio.state.context import AppContext
from studio.state.formats import metric_title
from studio.state.runs.comparison import EACH, Comparison, Drawn, Group, Look
from studio.theme import SPACING
from studio.widgets import Card, hbox, scroll_area
from training.runs.comparison.compared_run import Axis
from training.runs.folder import RunFolder

_TITLES = {"train/loss": "Training loss", "lr": "Learning rate", "grad_norm": "Gradient norm (pre-clip)"}
_FIRST = ("train/loss", "val/loss")
_MOST_AT_FIRST = 4
_CHART, _LEAST_CHART = 240, 150  # pixels high: in a low window one is seen whole all the same
_AROUND = 2 * SPACING.l  # the edges of its card
_TWO_BESIDE = 760  # pixels wide
_AXIS_TITLES: dict[Axis, str] = {"step": "Step", "epoch": "Epoch", "samples": "Sample"}


def title_curve(name: str) -> str:
    """What a chart of this quantity is called."""
    if name in _TITLES:
        return _TITLES[name]
    if name.startswith(("parts/", "layers/")):
        return name.replace("/", " · ", 1)
    title = metric_title(name)
    return title[:1].upper() + title[1:]


def is_noisy(name: str) -> bool:
    """Whether a quantity is measured of each step alone, and smoothed."""
    return name in ("train/loss", "grad_norm") or name.startswith(("parts/", "layers/"))


class CurvesView(QWidget):
    """Signals: `point_chosen(RunFolder, step)` where a curve was clicked."""

    point_chosen = Signal(object, int)

    def __init__(self, context: AppContext, comparison: Comparison) -> None:
        super().__init__()
        self._context, self._comparison = context, comparison
        self._clock, self._shared_x = RedrawClock(self), SharedX(self)
        self.plots: dict[str, CurvePlot] = {}
        self._chosen: list[str] | None = None  # charts, by the person
        self._hidden: set[str] = set()
        self._groups: dict[str, Group] = {}
        self._drawn: dict[tuple[str, str], Drawn] = {}  # by chart and curve
        self._asked: dict[tuple[str, str], object] = {}  # and of what: an answer to an earlier question counts no more
        self._entries: dict[str, tuple[str, int, bool]] = {}
        self._axis: Axis = "step"
        self._next = QTimer(self, interval=0, singleShot=True)
        self._next.timeout.connect(self._on_next)
        self.bar = LookBar(context.settings)
        self.bar.setParent(self)
        self.legend = RunLegend()
        self._cards: dict[str, Card] = {}
        self._placed: tuple[list[Card], int] = [], 0  # and in how many columns
        self._lay_out()
        self.bar.look_changed.connect(self._on_look_changed)
        self.bar.log_toggled.connect(self._set_logs)
        self.bar.fit_asked.connect(self.fit)
        self.bar.charts.setMenu(QMenu(self.bar.charts))
        self.bar.charts.menu().aboutToShow.connect(self._fill_menu)
        self.legend.pressed.connect(self._on_pressed)
        self._shared_x.cursor_moved.connect(self._on_cursor_moved)

    def rebuild(self) -> None:
        """Draw what is compared now; what was drawn before and is the same stays."""
        self.bar.offer_settings(self._comparison)
        look = self.bar.look()
        self._groups = {group.key: group for group in self._comparison.groups(look.group)}
        entries = _list_entries(self._comparison, self._groups, look)
        if entries != self._entries:
            self.legend.set_entries(entries)
            for key in entries:
                self.legend.set_off(key, key in self._hidden)
        for name, plot in self.plots.items():
            for key in plot.curves():
                if self._entries.get(key) != entries.get(key):
                    plot.remove_curve(key)
                    self._asked.pop((name, key), None)
        self._entries = entries
        self._drop_charts()
        for name in self.plots:
            self._fill_chart(name, look)
        self._add_next_chart(look)
        if look.axis != self._axis:
            self._axis = look.axis
            self._shared_x.fit()
        self._set_axes()

    def take_up(self, grown: list[RunFolder]) -> None:
        """Draw what these runs have done since."""
        look = self.bar.look()
        ids = {folder.id for folder in grown}
        means = {key for key, group in self._groups.items() if ids & {folder.id for folder in group.members}}
        for name, plot in self.plots.items():
            for key in plot.curves() & (ids | means):
                before = self._drawn.get((name, key))
                now = self._comparison.draw(self._folder(key), name, look) if key in ids else None
                if now is not None and before is not None and before.smoother is not None:
                    before.smoother.grow(now.curve)  # by what came in two seconds
                    self._show(name, key, Drawn(now.curve, before.smoother))
                else:
                    self._draw(name, key, look, again=True)

    def fit(self) -> None:
        """Show all steps; pressed again, the spikes, too."""
        spikes = all(plot.is_fitted() for plot in self.plots.values())
        for plot in self.plots.values():
            plot.fit(spikes=spikes)

    def set_growing(self, on: bool) -> None:
        """Whether any run goes on."""
        self._shared_x.is_growing = on
        for plot in self.plots.values():
            self._say_why_empty(plot)

    # ---------------------------------------------------------------- curves

    def _draw(self, name: str, key: str, look: Look, *, again: bool = False) -> None:
        look = look if is_noisy(name) else Look(look.axis, group=look.group, band=look.band)
        members = self._groups[key].members if key in self._entry_groups() else (self._folder(key),)
        asked = look, tuple(id(self._comparison.runs.get(folder)) for folder in members)
        if self._asked.get((name, key)) == asked and not again:
            return
        self._asked[name, key] = asked

        def show(drawn: Drawn | None) -> None:
            if self._asked.get((name, key)) == asked and drawn is not None and name in self.plots:
                self._show(name, key, drawn)

        if key in self._entry_groups():
            self._comparison.average(self._groups[key], name, look, show)
        elif (drawn := self._comparison.draw(members[0], name, look)) is not None:
            show(drawn)
            self._comparison.smooth(drawn, look, show)

    def _entry_groups(self) -> set[str]:
        """The keys of means."""
        return {key for key, group in self._groups.items() if len(group.members) > 1}

    def _show(self, name: str, key: str, drawn: Drawn) -> None:
        edges = []
        for curve, smoother in drawn.edges:
            edge = Series()
            edge.show(curve, smoother)
            edges.append(edge)
        self._drawn[name, key] = drawn
        band = (edges[0], edges[1]) if edges else ()
        self.plots[name].show_curve(key, drawn.curve, drawn.smoother, band)

    def _folder(self, key: str) -> RunFolder:
        return next(folder for folder in self._comparison.folders if folder.id == key)

    # ---------------------------------------------------------------- charts

    def known_names(self) -> list[str]:
        """The quantities of any run, the usual ones first."""
        runs = [self._comparison.runs.get(folder) for folder in self._comparison.drawn_runs()]
        names = dict.fromkeys(name for run in runs if run for name in run.names())
        return [*(name for name in _FIRST if name in names), *(name for name in names if name not in _FIRST)]

    def choose_charts(self, names: list[str]) -> None:
        """Show these quantities."""
        self._chosen = names
        self.rebuild()

    def _list_shown(self) -> list[str]:
        known = self.known_names()
        if self._chosen is not None:
            return [name for name in known if name in self._chosen]
        metrics = [name for name in known if name.startswith("val/") and name not in _FIRST]
        first = [*(name for name in known if name in _FIRST), *metrics[:1]]
        rest = [name for name in ("lr", "grad_norm") if name in known]
        return [*first, *rest][: max(_MOST_AT_FIRST, len(first))]

    def _fill_menu(self) -> None:
        menu = self.bar.charts.menu()
        menu.clear()
        shown = self._list_shown()
        for name in self.known_names():
            action = menu.addAction(title_curve(name))
            action.setCheckable(True)
            action.setChecked(name in shown)
            action.toggled.connect(partial(self._toggle_chart, name))

    def _toggle_chart(self, name: str, on: bool) -> None:
        shown = [each for each in self._list_shown() if each != name]
        self.choose_charts([*shown, name] if on else shown)

    def _drop_charts(self) -> None:
        names = self._list_shown()
        for name in [name for name in self.plots if name not in names]:
            self.plots[name].forget_shared_x()
            for key in self.plots.pop(name).curves():
                self._asked.pop((name, key), None)
            self._cards.pop(name).deleteLater()

    @Slot()
    def _on_next(self) -> None:
        self._add_next_chart(self.bar.look())
        self._set_axes()

    def _add_next_chart(self, look: Look) -> None:
        """One in a turn of events: the first is seen, and the window answers, before the last is made."""
        missing = [name for name in self._list_shown() if name not in self.plots]
        if missing:
            self._add_chart(missing[0])
            self._fill_chart(missing[0], look)
        self._place_charts()
        if len(missing) > 1:
            self._next.start()

    def _add_chart(self, name: str) -> None:
        title = title_curve(name)
        plot = CurvePlot(title, clock=self._clock, shared_x=self._shared_x)
        plot.set_log(self.bar.is_log() and _may_be_log(name))
        plot.fit_wanted.connect(self.fit)
        plot.point_clicked.connect(partial(self._on_point_clicked, name))
        self._say_why_empty(plot)
        ChartMenu(plot, self._context, name=lambda: "comparison", title=title)
        card = Card()
        card.add((plot, 1))
        self.plots[name], self._cards[name] = plot, card

    def _fill_chart(self, name: str, look: Look) -> None:
        plot = self.plots[name]
        for key, (_, color, is_member) in self._entries.items():
            if key not in plot.curves():
                plot.add_curve(key, "", color, is_noisy=is_noisy(name), is_faded=is_member)
                plot.hide_curve(key, key in self._hidden)
            self._draw(name, key, look)

    def _place_charts(self) -> None:
        names = [name for name in self._list_shown() if name in self.plots]
        columns = 2 if self._area.viewport().width() >= _TWO_BESIDE and len(names) > 1 else 1
        cards = [self._cards[name] for name in names]
        if (cards, columns) != self._placed:
            self._placed = cards, columns
            for at, card in enumerate(cards):
                self._grid.addWidget(card, at // columns, at % columns)
        for column in (0, 1):
            self._grid.setColumnStretch(column, int(column < columns))
        height = max(min(_CHART, self._area.viewport().height() - _AROUND), _LEAST_CHART)
        for name in names:
            self.plots[name].setMinimumHeight(height)

    def _say_why_empty(self, plot: CurvePlot) -> None:
        plot.set_empty_text("Loading …" if self._comparison.is_loading() else "No run has this curve.")

    def _set_axes(self) -> None:
        """Say what the x axis counts."""
        axis, reach = self._axis, self._shared_x.reach()
        unit, size = next((unit for unit in (("h", 3600), ("min", 60)) if reach >= 3 * unit[1]), ("s", 1))
        for plot in self.plots.values():
            if axis == "time":
                plot.set_x_label(f"Training time ({unit})", 1 / size)
            else:
                plot.set_x_label(_AXIS_TITLES[axis], 1.0)
            plot.set_whole_x(axis in ("step", "samples"))

    # ---------------------------------------------------------------- person

    @Slot()
    def _on_look_changed(self) -> None:
        self.rebuild()

    @Slot(bool)
    def _set_logs(self, on: bool) -> None:
        for name, plot in self.plots.items():
            if _may_be_log(name):
                plot.set_log(on)

    def _on_pressed(self, key: str) -> None:
        self._hidden ^= {key}
        self.legend.set_off(key, key in self._hidden)
        for plot in self.plots.values():
            plot.hide_curve(key, key in self._hidden)

    def _on_point_clicked(self, name: str, key: str, x: float) -> None:
        folder = self._groups[key].members[0] if key in self._entry_groups() else self._folder(key)
        drawn, steps = self._comparison.draw(folder, name, self.bar.look()), self._comparison.draw(folder, name, Look())
        if drawn is not None and steps is not None:
            self.point_chosen.emit(folder, int(steps.curve.x[drawn.curve.find_nearest(x)]))

    @Slot(object)
    def _on_cursor_moved(self, x: float | None) -> None:
        name = next((name for name, plot in self.plots.items() if plot.underMouse()), next(iter(self.plots), None))
        if x is None or name is None:
            self.legend.set_values("", {})
            return
        texts: dict[str, str] = {}
        nearest = x
        for key, (at, value, smooth) in self.plots[name].read_values(x).items():
            texts[key], nearest = reading(value if smooth is None else smooth), at
            drawn = self._drawn.get((name, key))
            if drawn is not None and drawn.band is not None:
                texts[key] += f" (n {drawn.band.n[drawn.curve.find_nearest(x)]})"
        look = self.bar.look()
        where = f"{self.plots[name].title} at {self.plots[name].x_reading(nearest)}"
        smoothed = look.weight and is_noisy(name)
        self.legend.set_values(f"{where}, smoothed" if smoothed else where, texts)

    # ---------------------------------------------------------------- layout

    def _lay_out(self) -> None:
        inside = QWidget()
        self._grid = QGridLayout(inside)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(SPACING.m)
        self._area = scroll_area(inside)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setAccessibleName("Curves of the compared runs")
        hbox(self.legend, (self._area, 1), parent=self, spacing=SPACING.m)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self.plots:
            self._place_charts()


def _may_be_log(name: str) -> bool:
    return "loss" in name or "norm" in name or name.startswith(("parts/", "layers/"))


def _list_entries(comparison: Comparison, groups: Mapping[str, Group], look: Look) -> dict[str, tuple[str, int, bool]]:
    """What the legend says: a mean, and its members below it; a run by itself."""
    entries: dict[str, tuple[str, int, bool]] = {}
    for key, group in groups.items():
        is_mean = look.group != EACH and len(group.members) > 1
        if is_mean:
            title = f"Mean of {len(group.members)}: {group.title}"
            entries[key] = title, comparison.color(group.members[0]), False
        for folder in group.members:
            entries[folder.id] = comparison.title(folder), comparison.color(folder), is_mean
    return entries
