"""One curve: its samples, the two lines that draw it, and the dot that stands for a line of one sample."""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor

from studio.charts.plots.markers import WITH_LINE, Marker
from studio.charts.plots.plot_canvas import BandItem, CurveItem
from studio.charts.plots.spans import span_extents
from studio.charts.plots.value_scale import ValueScale
from studio.charts.series import Series
from studio.theme import Palette
from studio.theme.theme import mix

Floats = NDArray[np.float64]
Line = tuple[Floats, Floats]

_RAW_SHARE = 0.34  # of the curve's color in the raw line, while the smoothed one is what is read
_FADED_SHARE = 0.42  # of the curve's color in one that is faded
_TURNED = 0.45  # of the way to the text's color, or to the ground's
_SMOOTH_POINTS = 400
_DOT = 7  # pixels
_FEW_POINTS = 600  # up to here a thin line is worth the time that antialiasing takes
_SHORT_WAY = 40
"""Heights of the plot: up to here a wide line is worth it. One that goes up and down 400 times takes 17 ms, or 1.4."""


NO_LINE: Line = np.empty(0), np.empty(0)


class Lines(NamedTuple):
    """A curve as it is to be drawn: as it came, smoothed, and the edges of the band around it."""

    raw: Line
    smooth: Line
    lower: Line = NO_LINE
    upper: Line = NO_LINE


class Curve:
    """A noisy curve is a thin line, with a wide smoothed one over it on demand; any other is one wide line. A faded one lies
    behind the others."""

    def __init__(self, color_index: int, view: pg.ViewBox, *, is_noisy: bool = True, is_faded: bool = False) -> None:
        """``view`` shows it. What few curves need is put there when it is needed: ten charts of ten runs have a hundred curves."""
        self.color_index = color_index
        self.is_faded = is_faded
        self.series = Series(may_be_smoothed=is_noisy)
        self.edges: tuple[Series, Series] | tuple[()] = ()
        """Of a mean: what lies below and above it."""
        self.is_noisy = is_noisy
        self.is_hidden = False  # by the person, in the legend
        self._view = view
        self._look: tuple[QColor, float] = QColor(), 1.0
        self.raw_item = CurveItem()
        self._place(self.raw_item)
        self.smooth_item: CurveItem | None = None
        self.dot_item: pg.ScatterPlotItem | None = None
        self.band_item: BandItem | None = None

    def remove(self) -> None:
        """Take it off the view."""
        for item in (self.band_item, self.raw_item, self.smooth_item, self.dot_item):
            if item is not None:
                self._view.removeItem(item)

    def lines(self, first: float, last: float, pixels: int, scale: ValueScale) -> Lines:
        """What is to be drawn between two positions."""

        def look(series: Series) -> tuple[Line, Line]:
            smooth = series.smooth_view(first, last, min(pixels, _SMOOTH_POINTS))
            return scale.scale_values(*series.raw.view(first, last, pixels)), scale.scale_values(*smooth or NO_LINE)

        raw, smooth = look(self.series)
        edges = [look(edge)[edge.is_smoothed] for edge in self.edges]
        return Lines(raw, smooth, *edges)

    def draw(self, lines: Lines, bounds: QRectF) -> None:
        """Hand lines to the plot that shows `bounds`. What is empty is not painted: it would cost as much as a line."""
        self._draw_band(lines, bounds)
        self.raw_item.setVisible(not self.is_hidden)
        if not self.is_hidden:
            raw = lines.raw
            is_fine = len(raw[0]) <= _FEW_POINTS if self.is_noisy else _way(raw[1], bounds) <= _SHORT_WAY
            self.raw_item.set_line(*raw, bounds, antialias=is_fine)
        self._draw_smooth(NO_LINE if self.is_hidden else lines.smooth, bounds)
        self._draw_dot(lines.raw if len(self.series) == 1 and not self.is_hidden else NO_LINE)

    def _draw_band(self, lines: Lines, bounds: QRectF) -> None:
        if self.edges and self.band_item is None:
            self.band_item = BandItem()
            self._place(self.band_item)
            self._dress_further()
        if self.band_item is not None:
            self.band_item.setVisible(bool(self.edges) and not self.is_hidden)
            self.band_item.set_edges(lines.lower, lines.upper, bounds)

    def _draw_smooth(self, line: Line, bounds: QRectF) -> None:
        if len(line[0]) and self.smooth_item is None:
            self.smooth_item = CurveItem()
            self._place(self.smooth_item)
            self._dress_further()
        if self.smooth_item is not None:
            self.smooth_item.setVisible(len(line[0]) > 0)
            self.smooth_item.set_line(*line, bounds, antialias=True)

    def _draw_dot(self, line: Line) -> None:
        if len(line[0]) and self.dot_item is None:
            self.dot_item = pg.ScatterPlotItem(size=_DOT, pen=None)
            self._place(self.dot_item)
            self._dress_further()
        if self.dot_item is not None and (len(line[0]) or self.dot_item.isVisible()):
            self.dot_item.setData(*line)
            self.dot_item.setVisible(len(line[0]) > 0)

    def _place(self, item: pg.GraphicsObject) -> None:
        if self.is_faded:
            item.setZValue(-1)
        self._view.addItem(item, ignoreBounds=True)

    def dress(self, palette: Palette, device_pixel_ratio: float) -> None:
        """Take on a theme's colors."""
        color = curve_color(palette, self.color_index, is_faded=self.is_faded)
        wide = 2 * device_pixel_ratio  # pyqtgraph counts a pen's width in device pixels
        self._look = color, wide
        self._dress_further()
        if self.series.is_smoothed:
            color = mix(QColor(palette.surface), color, _RAW_SHARE)
        # Wide lines are dear where they zigzag, and noise is drawn as zigzag.
        self.raw_item.setPen(pg.mkPen(color, width=1 if self.is_noisy else wide))

    def _dress_further(self) -> None:
        color, wide = self._look
        if self.smooth_item is not None:
            self.smooth_item.setPen(pg.mkPen(color, width=wide))
        if self.dot_item is not None:
            self.dot_item.setBrush(color)
        if self.band_item is not None:
            self.band_item.set_color(color)


def curve_color(palette: Palette, index: int, *, is_faded: bool = False) -> QColor:
    """A curve's color by its number, darker or paler once all were given away. Mixed, not transparent: transparent lines take three
    times as long."""
    color = QColor(palette.curve(index))
    if turn := index // len(palette.curves) % 3:
        color = mix(color, QColor(palette.text if turn == 1 else palette.surface), _TURNED)
    return mix(QColor(palette.surface), color, _FADED_SHARE) if is_faded else color


def _heights(curve: Curve, lines: Lines) -> list[Floats]:
    """What of a curve has to be seen. The band of a smoothed mean is smoothed, too, and its raw line lies behind it."""
    return [lines.raw[1], lines.lower[1], lines.upper[1]] if curve.edges else [lines.raw[1]]


def _way(heights: Floats, bounds: QRectF) -> float:
    """How far a line goes up and down, in heights of the plot; what is broken counts nothing."""
    return float(np.nansum(np.abs(np.diff(heights)))) / bounds.height()


class CurveSet(dict[str, Curve]):
    """Curves by name, in the order in which they are drawn."""

    def visible(self) -> dict[str, Curve]:
        """Those that nobody hid."""
        return {name: curve for name, curve in self.items() if not curve.is_hidden}

    def extent(self) -> tuple[float, float] | None:
        """The first and the last position of any; None while all are empty."""
        return span_extents([extent for curve in self.values() if (extent := curve.series.extent) is not None])

    def newest(self) -> Iterator[tuple[str, float, float]]:
        """Of each that is shown and not faded, the last sample: name, position, value."""
        for name, curve in self.visible().items():
            if not curve.is_faded and (sample := curve.series.nearest(math.inf)) is not None:
                yield name, *sample

    def truncate(self, x: float) -> None:
        """Drop samples beyond ``x``; what is faded is of another stretch, and stays."""
        for curve in self.values():
            if not curve.is_faded:
                curve.series.truncate(x)

    def clear_samples(self) -> None:
        """Drop all samples; the curves stay."""
        for curve in self.values():
            curve.series.clear()

    def nearest_position(self, x: float) -> float:
        """The position of a sample that is closest to ``x``."""
        samples = [curve.series.nearest(x) for curve in self.visible().values()]
        return min((sample[0] for sample in samples if sample), key=lambda at: abs(at - x), default=x)

    def lines(self, first: float, last: float, pixels: int, scale: ValueScale) -> list[Lines]:
        """Each curve's raw and smoothed line as they are to be drawn; ``scale`` is fitted to them."""
        scale.hides_values = False
        found = [(curve, curve.lines(first, last, pixels, scale)) for curve in self.values()]
        seen = [(curve, heights) for curve, lines in found if not curve.is_hidden for heights in _heights(curve, lines)]
        noisy = [heights for curve, heights in seen if curve.is_noisy]
        scale.fit_to([heights for curve, heights in seen if not curve.is_noisy], noisy)
        return [lines for _, lines in found]

    def heights(self, pixels: int, scale: ValueScale) -> Floats:
        """All places that the curves reach, as ``scale`` draws them, from the first step to the last."""
        first, last = self.extent() or (0.0, 0.0)
        raw = [curve.series.raw.view(first, last, pixels) for curve in self.visible().values()]
        return np.concatenate([np.empty(0), *(scale.scale_values(*line)[1] for line in raw)])

    def height_of(self, marker: Marker, scale: ValueScale) -> float:
        """Where a marker stands: on a curve, or near the upper edge."""
        if marker.kind in WITH_LINE:
            return scale.near_top()
        filled = [curve.series for curve in self.visible().values() if len(curve.series) and not curve.is_faded]
        # The best checkpoint is chosen by a validation figure, which is the later curve where there are two.
        series = filled[-1 if marker.kind == "best" else 0] if filled else Series()
        sample = series.nearest(marker.x, smoothed=True)
        return scale.height(sample[1] if sample else math.nan)
