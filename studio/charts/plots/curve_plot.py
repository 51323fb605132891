"""A plot of one quantity with what a person does to it: zoom it, hide curves, take it along."""

import numpy as np
from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QPixmap, QRegion
from PySide6.QtWidgets import QWidget

from studio.charts.plots.curve import Line
from studio.charts.plots.plot import Plot
from studio.charts.plots.shared_x import SharedX
from studio.charts.plots.spans import zoom_span
from studio.charts.redraw_clock import RedrawClock
from studio.charts.series import Series
from studio.theme import theme
from training.runs.pyramid.curve import Pyramid
from training.runs.pyramid.smoothing import Smoother

_REACH = 14.0  # pixels
_ZOOMS = {Qt.Key.Key_Plus: 0.75, Qt.Key.Key_Equal: 0.75, Qt.Key.Key_Minus: 1 / 0.75}
"""Of the steps in view a key leaves that share; on many keyboards + is = with Shift."""
_WAYS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
_MOVED = 0.25  # of the steps in view, by a key
_READ = 0.01  # likewise, to the next place that is read
_MOST_TOLD = 10  # curves: nobody listens to more


class CurvePlot(Plot):
    """A `Plot` that follows the mouse, and the keys while an entry of its legend has the keyboard.

    Its accessible description tells the newest value of each curve that is shown.

    Signals: `redrawn()`; `fit_wanted()` on a double click; `menu_wanted(QPoint)` on the screen; `point_clicked(name, x)` on or near a curve.
    """

    point_clicked = Signal(str, float)

    redrawn = Signal()
    fit_wanted = Signal()
    menu_wanted = Signal(QPoint)

    def __init__(
        self, title: str, *, from_zero: bool = False, clock: RedrawClock | None = None, shared_x: SharedX | None = None
    ) -> None:
        super().__init__(title, from_zero=from_zero, clock=clock, shared_x=shared_x)
        self._legend.entry_pressed.connect(self._on_entry_pressed)
        self._legend.entry_left.connect(lambda: self._on_pointed(None))
        self._canvas.fit_wanted.connect(self.fit_wanted)
        self._canvas.clicked.connect(self._on_clicked)
        self._canvas.moved_by_hand.connect(self._on_moved_by_hand)
        self._canvas.stretched_by_hand.connect(self._on_stretched_by_hand)

    def show_curve(
        self, name: str, curve: Pyramid, smoother: Smoother | None = None, edges: tuple[Series, Series] | tuple[()] = ()
    ) -> None:
        """Draw a curve that is kept elsewhere, with the line that was made of all of it, and a band between two others."""
        shown = self._curves[name]
        was_smoothed = shown.series.is_smoothed
        shown.series.show(curve, smoother)
        shown.edges = edges
        if shown.series.is_smoothed != was_smoothed:
            shown.dress(theme().palette, self.devicePixelRatioF())
        if len(curve):
            self._area.take_words_back()
        self._ask_for_redraw()

    def remove_curve(self, name: str) -> None:
        """Take a curve away; one with a word in the legend stays."""
        self._curves.pop(name).remove()
        self._scale.forget_range()
        self._ask_for_redraw()

    def forget_shared_x(self) -> None:
        """It is about to go, and its data count no more for the range that others share with it."""
        self._shared_x.remove_source(self._curves.extent)

    def curves(self) -> set[str]:
        """The names of all curves."""
        return set(self._curves)

    def read_values(self, x: float) -> dict[str, tuple[float, float, float | None]]:
        """Of each curve the sample nearest to ``x``: its position, its value, and its value on the smoothed line, None without one."""
        found = {}
        for name, curve in self._curves.items():
            if (sample := curve.series.nearest(x)) is not None:
                smooth = curve.series.nearest(x, smoothed=True) if curve.series.is_smoothed else None
                found[name] = (*sample, smooth[1] if smooth else None)
        return found

    def hidden_curves(self) -> set[str]:
        """The names of curves that are hidden."""
        return self._curves.keys() - self._curves.visible().keys()

    def hide_curve(self, name: str, hidden: bool) -> None:
        """Draw a curve, or leave it out; data and values go on."""
        self._curves[name].is_hidden = hidden
        self._legend.set_off(name, hidden)
        self._scale.forget_range()
        self._ask_for_redraw()

    def shown_samples(self) -> dict[str, Line]:
        """Of each curve that is shown, by its word in the legend, the samples in view as they came."""
        first, last = self._shared_x.first, self._shared_x.last
        found: dict[str, Line] = {}
        for name, curve in self._curves.visible().items():
            start, stop = np.searchsorted(curve.series.raw.x, [first, last + 1e-9])
            if stop > start:
                word = f"Before rewind: {name}" if curve.is_faded else self._legend.word(name) or name
                found[word] = (
                    curve.series.raw.x[start:stop].copy(),
                    curve.series.raw.read(start, stop).astype(np.float64),
                )
        return found

    def draw(self) -> None:
        super().draw()
        self.setAccessibleDescription(self._tell_newest())
        self.redrawn.emit()

    def _tell_newest(self) -> str:
        told = list(self._curves.newest())
        newest = [
            f"{self._legend.word(name) or name} {self.read(value)} at {self.x_reading(x)}"
            for name, x, value in told[:_MOST_TOLD]
        ]
        more = [f"{len(told) - _MOST_TOLD:,} more curves"] if len(told) > _MOST_TOLD else []
        return "; ".join(newest + more) or "No values yet"

    def picture(self) -> QPixmap:
        """What is drawn now, with title and legend, without the crosshair."""
        self._on_pointed(None)
        self.refresh()
        ratio = self.devicePixelRatioF()
        drawn = QPixmap(self.size() * ratio)
        drawn.setDevicePixelRatio(ratio)
        drawn.fill(theme().palette.surface)
        self.render(drawn, QPoint(), QRegion(), QWidget.RenderFlag.DrawChildren)
        return drawn

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, shared = Qt.Key(event.key()), self._shared_x
        first, last = shared.first, shared.last
        if key in _ZOOMS:
            self._on_moved_by_hand(*zoom_span((first, last), (first + last) / 2, _ZOOMS[key]))
        elif key in _WAYS and event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            by = _WAYS[key] * _MOVED * (last - first)
            self._on_moved_by_hand(first + by, last + by)
        elif key in _WAYS:
            end = max(min(last, shared.reach()), first)  # a run that grows has room after its newest step
            at = end if self._cursor is None else self._cursor + _WAYS[key] * _READ * (last - first)
            self._on_pointed(min(max(at, first), end))
        elif key == Qt.Key.Key_0:
            self.fit_wanted.emit()
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        self.menu_wanted.emit(event.globalPos())

    def _on_entry_pressed(self, name: str) -> None:
        off, is_faded = not self._curves[name].is_hidden, self._curves[name].is_faded
        # What is faded has one entry for all of it.
        for each in [each for each, curve in self._curves.items() if curve.is_faded] if is_faded else [name]:
            self.hide_curve(each, off)

    def _on_clicked(self, x: float, y: float) -> None:
        reach = _REACH * (self._scale.top - self._scale.bottom) / max(self._canvas.view.height(), 1.0)
        found = {}
        for name, (at, value, smooth) in self.read_values(x).items():
            if not self._curves[name].is_hidden:
                heights = [self._scale.place(each) for each in (value, smooth) if each is not None]
                found[name] = min((abs(height - y) for height in heights if height == height), default=reach), at
        if found and (nearest := min(found.items(), key=lambda each: each[1][0]))[1][0] < reach:
            self.point_clicked.emit(nearest[0], nearest[1][1])

    def _on_moved_by_hand(self, first: float, last: float) -> None:
        self._shared_x.move_by_hand(first, last)
        self._show_range()

    def _on_stretched_by_hand(self, bottom: float, top: float) -> None:
        self._scale.hold(bottom, top, self._curves.heights(self._canvas.pixels(), self._scale))
        self._show_range()
        self._ask_for_redraw()

    def _show_range(self) -> None:
        """At once, before the curves are drawn for it: the next turn of the wheel starts from here."""
        shared, scale = self._shared_x, self._scale
        self._canvas.show_range(shared.first, shared.last, scale.bottom, scale.top, held=scale.is_held)
