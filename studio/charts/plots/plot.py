"""A plot of one quantity with several curves: raw and smoothed, linear or logarithmic, with markers and a cursor; the mouse moves nothing."""

import math
from collections.abc import Mapping

import pyqtgraph as pg
from numpy.typing import ArrayLike
from PySide6.QtCore import QRectF, Signal
from PySide6.QtGui import QColor, QPaintEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from studio.charts.plots.curve import Curve, CurveSet
from studio.charts.plots.legend import Legend
from studio.charts.plots.markers import MARKER_ROOM, Marker, MarkerKind, MarkerLayer
from studio.charts.plots.plot_canvas import PlotArea
from studio.charts.plots.shared_x import SharedX
from studio.charts.plots.value_scale import ValueScale
from studio.charts.redraw_clock import RedrawClock
from studio.charts.ticks import position, reading
from studio.state.formats import format_share
from studio.theme import Palette, theme
from studio.widgets import vbox


class Plot(QWidget):
    """Data may be appended at any rate; the plot is drawn by its clock, at most ten times a second, if it is seen.

    `from_zero` is for a quantity that is read as a share of its largest: 0 stays in the range.

    Signals: `marker_clicked(key)`; `title_chosen(key)`.
    """

    marker_clicked = Signal(object)
    title_chosen = Signal(str)

    def __init__(
        self, title: str, *, from_zero: bool = False, clock: RedrawClock | None = None, shared_x: SharedX | None = None
    ) -> None:
        super().__init__()
        self.setAccessibleName(f"Curves: {title}")
        self._curves = CurveSet()
        self._clock = clock or RedrawClock(self)
        self._smoothing = 0.0
        self._scale = ValueScale(from_zero=from_zero)
        self._cursor: float | None = None
        self._is_drawn = False  # as it is now
        self._percent = False
        self._x_name, self._x_scale = "Step", 1.0
        self.title = title  # what is drawn
        self._legend = Legend(title)
        self._legend.title_chosen.connect(self.title_chosen)
        self._area = PlotArea()
        self._canvas = self._area.canvas
        self._line = pg.InfiniteLine(angle=90)
        self._line.hide()
        self._canvas.view.addItem(self._line, ignoreBounds=True)
        self._markers = MarkerLayer(self._canvas.view)
        self._markers.clicked.connect(self.marker_clicked)
        self.marker_counts = self._markers.counts
        self._canvas.pointed.connect(self._on_pointed)
        self._canvas.axes["bottom"].is_whole = True
        self._lay_out()
        self._shared_x = shared_x or SharedX(self)
        self._shared_x.add_source(self._curves.extent)
        self._shared_x.range_changed.connect(self._ask_for_redraw)
        self._shared_x.cursor_moved.connect(self._on_cursor_moved)
        theme().changed.connect(self.set_theme)
        self.set_theme(theme().palette)

    # ---------------------------------------------------------------- curves

    def add_curve(self, name: str, label: str = "", color_index: int | None = None, **looks: bool) -> None:
        """Add an empty curve; `label` is its word in the legend, "" for none. `looks`: `is_noisy` (if not said; only such a curve
        is ever smoothed) and `is_faded` (it lies behind the others, and no `truncate` cuts it)."""
        curve = Curve(len(self._curves) if color_index is None else color_index, self._canvas.view, **looks)
        curve.series.set_smoothing(self._smoothing)
        curve.is_hidden = curve.is_faded and any(each.is_hidden and each.is_faded for each in self._curves.values())
        self._curves[name] = curve
        self._legend.add_entry(name, label, curve.color_index, is_faded=curve.is_faded)
        curve.dress(theme().palette, self.devicePixelRatioF())

    def append(self, name: str, x: ArrayLike, y: ArrayLike) -> None:
        """Add samples to a curve's end. Raises ValueError when x falls: cut it with `truncate` first."""
        self._curves[name].series.append(x, y)
        if self._curves.extent() is not None:
            self._area.take_words_back()
        self._ask_for_redraw()

    def set_curve(self, name: str, x: ArrayLike, y: ArrayLike) -> None:
        """Replace all samples of a curve."""
        self._curves[name].series.clear()
        self.append(name, x, y)

    def truncate(self, x: float) -> None:
        """Drop samples and markers beyond `x`."""
        self._curves.truncate(x)
        self._markers.truncate(x)
        self._ask_for_redraw()

    def clear(self) -> None:
        """Drop all samples and markers, at once and not with the next drawing; the curves stay."""
        self._curves.clear_samples()
        self.truncate(-math.inf)
        self._scale.forget_range()
        self._area.show_drawing(False)
        self._update_legend()

    # --------------------------------------------------------------- markers

    def add_marker(self, kind: MarkerKind, x: float, text: str, key: object, until: float | None = None) -> None:
        """Mark a step, or a stretch `until` another; a marker with that key already is moved."""
        self._markers.put(kind, x, text, key, until)
        self._ask_for_redraw()

    def remove_marker(self, key: object) -> None:
        """Take a marker away; nothing happens when there is none."""
        self._markers.remove(key)
        self._ask_for_redraw()

    # ------------------------------------------------------------------ look

    def set_titles(self, titles: Mapping[str, str], current: str, *, percent: bool = False) -> None:
        """Let the person choose among quantities; who hears `title_chosen` sets the curve again. `percent`: values are shares."""
        self._legend.set_titles(titles, current)
        if titles[current] != self.title:
            self.title = titles[current]
            self._scale.forget_range()
        self._percent = percent
        axis = self._canvas.axes["left"]
        axis.unit = "%" if percent else ""
        axis.setScale(100.0 if percent else 1.0)
        self.setAccessibleName(f"Curves: {titles[current]}")

    def set_smoothing(self, weight: float) -> None:
        """Weight of the exponential average, 0 (off) to below 1."""
        self._smoothing = weight
        for curve in self._curves.values():
            curve.series.set_smoothing(weight)
            curve.dress(theme().palette, self.devicePixelRatioF())
        self._ask_for_redraw()

    def set_log(self, on: bool) -> None:
        """Logarithmic or linear y axis."""
        self._scale.is_log = on
        self._scale.forget_range()
        self._canvas.axes["left"].setLogMode(on)
        self._ask_for_redraw()

    def set_x_label(self, name: str, scale: float = 1.0) -> None:
        """What the x axis counts: positions times `scale`."""
        self._x_name, self._x_scale = name, scale
        axis = self._canvas.axes["bottom"]
        axis.setScale(scale)
        axis.is_whole = scale == 1.0
        self._ask_for_redraw()

    def x_reading(self, x: float) -> str:
        """A position as it is read off."""
        return f"{self._x_name.lower()} {position(x * self._x_scale)}"

    def set_whole_x(self, on: bool) -> None:
        """Whether there is nothing between 1 and 2 on the x axis."""
        self._canvas.axes["bottom"].is_whole = on

    def set_empty_text(self, text: str) -> None:
        """What stands in the plot while there is nothing to draw."""
        self._area.words.setText(text)

    def fit(self, *, spikes: bool = False) -> None:
        """Show all steps and follow new data again; of noisy curves what most steps do, or all up to the last spike."""
        self._scale.shows_spikes = spikes
        self._scale.forget_range()
        self._shared_x.fit()
        self._ask_for_redraw()

    def is_fitted(self) -> bool:
        """Whether the plot is as `fit` leaves it: all steps, without the spikes."""
        return self._shared_x.is_following and not self._scale.shows_spikes and not self._scale.is_held

    def set_growing(self, on: bool) -> None:
        """Whether more data are to come, for which the x axis keeps room."""
        self._shared_x.is_growing = on
        self._ask_for_redraw()

    def set_theme(self, palette: Palette) -> None:
        """Take on a theme's colors; called by itself when the theme changes."""
        self._canvas.dress(palette)
        self._line.setPen(pg.mkPen(QColor(palette.faint), width=1))
        for curve in self._curves.values():
            curve.dress(palette, self.devicePixelRatioF())
        self._ask_for_redraw()

    # --------------------------------------------------------------- drawing

    def prepare(self) -> None:
        """Make room for new data in the range that linked plots share."""
        self._shared_x.follow()

    def refresh(self) -> None:
        """Be drawn at once, without waiting for the clock."""
        self.prepare()
        self.draw()

    def draw(self) -> None:
        """Draw what there is now in the range that was prepared; the clock calls this."""
        self._is_drawn = True
        first, last, scale = self._shared_x.first, self._shared_x.last, self._scale
        if self._shared_x.is_following:  # whole markers at the end, too
            last += (last - first) * MARKER_ROOM / self._canvas.pixels()
        lines = self._curves.lines(first, last, self._canvas.pixels(), scale)
        self._canvas.show_range(first, last, scale.bottom, scale.top, held=scale.is_held)
        bounds = QRectF(first, scale.bottom, last - first, scale.top - scale.bottom)
        for curve, drawn in zip(self._curves.values(), lines, strict=True):
            curve.draw(drawn, bounds)
        self._markers.draw(first, last, self._canvas.pixels(), self._height_of, theme().palette)
        self._area.show_drawing(self._curves.extent() is not None)
        self._update_legend()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._ask_for_redraw()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._ask_for_redraw()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self._is_drawn:  # it was scrolled into view
            self._clock.request(self)

    def is_seen(self) -> bool:
        """Whether any of it is in view."""
        return self.isVisible() and not self.visibleRegion().isEmpty()

    def _height_of(self, marker: Marker) -> float:
        return self._curves.height_of(marker, self._scale)

    def _update_legend(self) -> None:
        for name, curve in self._curves.items():
            at = math.inf if self._cursor is None else self._cursor
            sample = curve.series.nearest(at) if len(curve.series) else None
            self._legend.set_value(name, self.read(sample[1]) if sample else "")
        if self._cursor is None:
            several = (
                sum(not curve.is_faded for curve in self._curves.values()) > 1
            )  # a single one's name can be spared
            self._legend.set_note(*self._scale.note(), yields=several)
        else:
            shown = position(self._curves.nearest_position(self._cursor) * self._x_scale)
            self._legend.set_note(f"{self._x_name} {shown}", shown)

    def read(self, value: float) -> str:
        """A value as it is read off."""
        return format_share(value) if self._percent and math.isfinite(value) else reading(value)

    # ---------------------------------------------------------------- wiring

    def _lay_out(self) -> None:
        vbox(self._legend, (self._area, 1), parent=self, spacing=4)

    def _ask_for_redraw(self) -> None:
        self._is_drawn = False
        self._clock.request(self)

    def _on_pointed(self, x: float | None) -> None:
        self._shared_x.cursor_moved.emit(x)

    def _on_cursor_moved(self, x: float | None) -> None:
        self._cursor = x
        self._line.setVisible(x is not None)
        if x is not None:
            self._line.setPos(self._curves.nearest_position(x))
        self._update_legend()
