"""The curves of compared runs: a chart for each quantity, a curve for each run or group, one x axis and one cursor for all."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QMenu, QWidget

from studio.charts.series import Series
from studio.charts.ticks import reading
from studio.pages.runs.compare.chart_grid import ChartGrid, title_curve
from studio.pages.runs.compare.look_bar import LookBar
from studio.pages.runs.compare.run_legend import RunLegend
from studio.state.context import AppContext
from studio.state.runs.comparison import EACH, Comparison, Drawn, Group, Look
from studio.theme import SPACING
from studio.widgets import hbox
from training.runs.folder import RunFolder

_FIRST = ("train/loss", "val/loss")
_MOST_AT_FIRST = 4


def is_noisy(name: str) -> bool:
    """Whether a quantity is measured of each step alone, and smoothed."""
    return name in ("train/loss", "grad_norm") or name.startswith(("parts/", "layers/"))


class CurvesView(QWidget):
    """Signals: `point_chosen(RunFolder, step)` where a curve was clicked."""

    point_chosen = Signal(object, int)

    def __init__(self, context: AppContext, comparison: Comparison) -> None:
        super().__init__()
        self._context, self._comparison = context, comparison
        self.charts = ChartGrid(context)
        self.plots = self.charts.plots
        self._chosen: list[str] | None = None  # charts, by the person
        self._hidden: set[str] = set()
        self._groups: dict[str, Group] = {}
        self._drawn: dict[tuple[str, str], Drawn] = {}  # by chart and curve
        self._asked: dict[tuple[str, str], object] = {}  # and of what: an answer to an earlier question counts no more
        self._entries: dict[str, tuple[str, int, bool]] = {}
        self.bar = LookBar(context.settings)
        self.bar.setParent(self)
        self.legend = RunLegend()
        hbox(self.legend, (self.charts, 1), parent=self, spacing=SPACING.m)
        self.charts.set_log(self.bar.is_log())
        self.charts.added.connect(lambda name: self._fill_chart(name, self.bar.look()))
        self.charts.point_clicked.connect(self._on_point_clicked)
        self.bar.look_changed.connect(self._on_look_changed)
        self.bar.log_toggled.connect(self.charts.set_log)
        self.bar.fit_asked.connect(self.charts.fit)
        self.bar.charts.setMenu(QMenu(self.bar.charts))
        self.bar.charts.menu().aboutToShow.connect(self._fill_menu)
        self.legend.pressed.connect(self._on_pressed)
        self.charts.shared_x.cursor_moved.connect(self._on_cursor_moved)

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
        self.charts.show_charts(self._list_shown())
        self._asked = {place: asked for place, asked in self._asked.items() if place[0] in self.plots}
        for name in self.plots:
            self._fill_chart(name, look)
        self.charts.set_axis(look.axis)

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

    def set_growing(self, on: bool) -> None:
        """Whether any run goes on."""
        self.charts.shared_x.is_growing = on
        self.charts.set_empty_text("Loading …" if self._comparison.is_loading() else "No run has this curve.")

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

    def list_names(self) -> list[str]:
        """The quantities of any run, the usual ones first."""
        runs = [self._comparison.runs.get(folder) for folder in self._comparison.drawn_runs()]
        names = dict.fromkeys(name for run in runs if run for name in run.names())
        return [*(name for name in _FIRST if name in names), *(name for name in names if name not in _FIRST)]

    def choose_charts(self, names: list[str]) -> None:
        """Show these quantities."""
        self._chosen = names
        self.rebuild()

    def _list_shown(self) -> list[str]:
        known = self.list_names()
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
        for name in self.list_names():
            action = menu.addAction(title_curve(name))
            action.setCheckable(True)
            action.setChecked(name in shown)
            action.toggled.connect(partial(self._toggle_chart, name))

    def _toggle_chart(self, name: str, on: bool) -> None:
        shown = [each for each in self._list_shown() if each != name]
        self.choose_charts([*shown, name] if on else shown)

    def _fill_chart(self, name: str, look: Look) -> None:
        plot = self.plots[name]
        there = {folder.id for folder in self._comparison.folders} | self._entry_groups()
        for key, (_, color, is_member) in self._entries.items():
            if key not in there:  # other runs were chosen since; all is rebuilt soon
                continue
            if key not in plot.curves():
                plot.add_curve(key, "", color, is_noisy=is_noisy(name), is_faded=is_member)
                plot.hide_curve(key, key in self._hidden)
            self._draw(name, key, look)

    # ---------------------------------------------------------------- person

    @Slot()
    def _on_look_changed(self) -> None:
        self.rebuild()

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
