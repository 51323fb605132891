"""Points and lines that say what happened at a step: checkpoints, the best one, events, resumes.

A long run has thousands. Of those that would lie over each other only the newest is drawn, so that a redraw costs what
fits into the plot, however many there are; zooming in brings the others out.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QBrush, QColor, QCursor, QPen
from PySide6.QtWidgets import QToolTip

from studio.theme import Palette, theme

MarkerKind = Literal["checkpoint", "best", "event", "resume", "drop", "error", "warning", "note"]
"""The last three are findings, by what they cost."""

_SYMBOLS: dict[MarkerKind, str] = {
    "checkpoint": "o", "best": "star", "event": "t", "resume": "d", "drop": "t", "error": "t1", "warning": "t1", "note": "t1",
}  # fmt: skip
_SIZES: dict[MarkerKind, int] = {
    "checkpoint": 9, "best": 15, "event": 12, "resume": 12, "drop": 14, "error": 14, "warning": 14, "note": 12,
}  # fmt: skip
MARKER_ROOM = max(_SIZES.values()) / 2 + 1  # pixels beside its place, that none is cut at the edge
_ROOM = 0.7  # of its size: nearer than that, two markers of a kind are read as one
FINDINGS: tuple[MarkerKind, ...] = ("error", "warning", "note")
WITH_LINE: tuple[MarkerKind, ...] = ("event", "resume", *FINDINGS)
"""They stand near the upper edge, on a line across the whole plot."""
_BAND = 0.12  # opacity of a stretch of steps in which a finding held
MARKER_WORDS: dict[MarkerKind, str] = {
    "best": "★ Best",
    "checkpoint": "○ Checkpoint",
    "resume": "◆┆ Resumed",
    "event": "▼┆ Failure",
    "error": "▲┆ Error",
    "warning": "▲┆ Warning",
    "note": "▲┆ Note",
    "drop": "▼ Rate lowered",
}
"""What each looks like, and what it says."""
_BEST_COLOR, _BEST_EDGE = "#f5a623", "#a86a00"  # gold on either ground, as stars are


@dataclass(slots=True)
class Marker:
    """What is known about one marker; `line` only for the kinds that cross the whole plot, `band` of what is over."""

    kind: MarkerKind
    x: float
    text: str
    key: object
    line: pg.InfiniteLine | None = None
    band: pg.LinearRegionItem | None = None
    covered: int = 0  # others of its kind that lie under it as it is drawn now


class MarkerLayer(QObject):
    """The markers of one plot. Signals: `clicked(key)`."""

    clicked = Signal(object)

    def __init__(self, view: pg.ViewBox) -> None:
        super().__init__(view)
        self._view = view
        self._markers: dict[object, Marker] = {}
        self.counts: Counter[MarkerKind] = Counter()  # of each kind how many there are
        # By place; None: to be found.
        self._by_kind: dict[MarkerKind, tuple[list[Marker], NDArray[np.float64]]] | None = None
        self._drawn: list[tuple[object, tuple[float, float], int]] = []
        self._palette: Palette | None = None
        self._points = pg.ScatterPlotItem(pxMode=True, hoverable=True, hoverSize=16, tip=None)
        self._points.setZValue(20)
        self._points.hide()
        self._points.sigClicked.connect(self._on_clicked)
        self._points.sigHovered.connect(self._on_hovered)
        view.addItem(self._points, ignoreBounds=True)

    def put(self, kind: MarkerKind, x: float, text: str, key: object, until: float | None = None) -> None:
        """Add a marker, or move the one with that key; up to `until` is what it tells of, where that is over."""
        self.remove(key)
        line = band = None
        if until is not None and until > x:
            band = pg.LinearRegionItem(
                (x, until), movable=False, pen=pg.mkPen(None), brush=_band_brush(kind, theme().palette)
            )
            band.setZValue(-3)
            band.setToolTip(text)
            self._view.addItem(band, ignoreBounds=True)
        elif kind in WITH_LINE:
            line = pg.InfiniteLine(pos=x, angle=90, pen=_line_pen(kind, theme().palette))
            line.setZValue(5)
            line.setToolTip(text)
            self._view.addItem(line, ignoreBounds=True)
        self._markers[key] = Marker(kind, x, text, key, line, band)
        self.counts[kind] += 1
        self._by_kind = None

    def remove(self, key: object) -> None:
        """Take a marker away; nothing happens when there is none with that key."""
        marker = self._markers.pop(key, None)
        if marker is None:
            return
        self._by_kind = None
        self.counts[marker.kind] -= 1
        for item in (marker.line, marker.band):
            if item is not None:
                self._view.removeItem(item)

    def truncate(self, x: float) -> None:
        """Take away all markers beyond `x`."""
        for key in [key for key, marker in self._markers.items() if marker.x > x]:
            self.remove(key)

    def draw(
        self, first: float, last: float, pixels: int, height_at: Callable[[Marker], float], palette: Palette
    ) -> None:
        """Place the markers between two positions, `pixels` apart on the screen, at the heights `height_at(marker)` (in
        the plot's own coordinates)."""
        shown = self._thin_out(first, last, pixels)
        whole = first + (last - first) * MARKER_ROOM / max(
            pixels, 1
        )  # beside its line rather than half behind the axis
        places = [
            (max(marker.x, whole) if marker.line is not None and marker.x >= first else marker.x, height_at(marker))
            for marker in shown
        ]
        drawn = [(marker.key, place, marker.covered) for marker, place in zip(shown, places, strict=True)]
        if palette is self._palette and drawn == self._drawn:
            return
        looks = {kind: _dress(kind, palette) for kind in _SYMBOLS}
        self._points.setData(
            [
                {
                    "pos": place,
                    "symbol": _SYMBOLS[marker.kind],
                    "size": _SIZES[marker.kind],
                    "pen": looks[marker.kind][0],
                    "brush": looks[marker.kind][1],
                    "data": marker,
                }
                for marker, place in zip(shown, places, strict=True)
            ]
        )
        self._points.setVisible(bool(shown))  # painting none of them takes as long as painting a curve
        if palette is not self._palette:
            for marker in self._markers.values():
                if marker.line is not None:
                    marker.line.setPen(_line_pen(marker.kind, palette))
                if marker.band is not None:
                    marker.band.setBrush(_band_brush(marker.kind, palette))
        self._drawn, self._palette = drawn, palette

    def _thin_out(self, first: float, last: float, pixels: int) -> list[Marker]:
        """What is drawn of the markers in view: the newest in each stretch as wide as a marker needs."""
        if self._by_kind is None:
            self._by_kind = self._sort_by_kind()
        shown = []
        # The best one last, so that it lies over the checkpoint it is.
        for kind in sorted(self._by_kind, key=lambda kind: kind == "best"):
            markers, places = self._by_kind[kind]
            start, stop = np.searchsorted(places, first, "left"), np.searchsorted(places, last, "right")
            width = _ROOM * _SIZES[kind] * (last - first) / pixels
            stretches = np.floor((places[start:stop] - first) / width)
            newest = start + np.flatnonzero(np.diff(stretches, append=np.inf))
            for at, covered in zip(newest, np.diff(newest, prepend=start - 1) - 1, strict=True):
                markers[at].covered = int(covered)
                shown.append(markers[at])
        return shown

    def _sort_by_kind(self) -> dict[MarkerKind, tuple[list[Marker], NDArray[np.float64]]]:
        kinds: dict[MarkerKind, list[Marker]] = {}
        for marker in sorted(self._markers.values(), key=lambda marker: marker.x):
            kinds.setdefault(marker.kind, []).append(marker)
        return {kind: (markers, np.array([marker.x for marker in markers])) for kind, markers in kinds.items()}

    def _on_clicked(self, scatter: object, points: list[pg.SpotItem], event: object) -> None:
        if len(points):
            self.clicked.emit(points[-1].data().key)

    def _on_hovered(self, scatter: object, points: list[pg.SpotItem], event: object) -> None:
        widget = self._view.getViewWidget()
        if widget is None:
            return
        if len(points):
            widget.setCursor(Qt.CursorShape.PointingHandCursor)
            QToolTip.showText(QCursor.pos(), "\n".join(_words(point.data()) for point in reversed(points)), widget)
        else:
            widget.unsetCursor()


def _words(marker: Marker) -> str:
    return f"{marker.text}, and {marker.covered:,} before it: zoom in to see them" if marker.covered else marker.text


def _dress(kind: MarkerKind, palette: Palette) -> tuple[QPen, QBrush]:
    """A marker's edge and its inside."""
    edge = {"checkpoint": palette.accent_text, "best": _BEST_EDGE}.get(kind, palette.surface)
    fill = _BEST_COLOR if kind == "best" else _color(kind, palette)
    return pg.mkPen(QColor(edge), width=1.5), pg.mkBrush(QColor(fill))


def find_color(kind: MarkerKind, palette: Palette) -> str:
    """The one that tells it from others."""
    return {"checkpoint": palette.accent_text, "best": _BEST_COLOR}.get(kind) or _color(kind, palette)


def _color(kind: MarkerKind, palette: Palette) -> str:
    colors: dict[MarkerKind, str] = {
        "event": palette.danger, "error": palette.danger, "resume": palette.info, "note": palette.info,
        "drop": palette.warning, "warning": palette.warning,
    }  # fmt: skip
    return colors.get(kind, palette.surface)


def _band_brush(kind: MarkerKind, palette: Palette) -> QBrush:
    color = QColor(_color(kind, palette))
    color.setAlphaF(_BAND)
    return pg.mkBrush(color)


def _line_pen(kind: MarkerKind, palette: Palette) -> QPen:
    return pg.mkPen(QColor(_color(kind, palette)), width=1, style=Qt.PenStyle.DashLine)
