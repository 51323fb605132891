"""Points and lines that say what happened at a step: checkpoints, the best one, events, resumes."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import pyqtgraph as pg
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QCursor
from PySide6.QtWidgets import QToolTip

from studio.theme import Palette, theme

MarkerKind = Literal["checkpoint", "best", "event", "resume"]

_SYMBOLS: dict[MarkerKind, str] = {"checkpoint": "o", "best": "star", "event": "t", "resume": "d"}
_SIZES: dict[MarkerKind, int] = {"checkpoint": 9, "best": 15, "event": 12, "resume": 12}
_WITH_LINE: tuple[MarkerKind, ...] = ("event", "resume")
_BEST_COLOR, _BEST_EDGE = "#f5a623", "#a86a00"  # gold on either ground, as stars are


@dataclass(slots=True)
class Marker:
    """What is known about one marker; `line` only for the kinds that cross the whole plot."""

    kind: MarkerKind
    x: float
    text: str
    key: object
    line: pg.InfiniteLine | None = None


class MarkerLayer(QObject):
    """The markers of one plot. Signals: `clicked(key)`."""

    clicked = Signal(object)

    def __init__(self, plot: pg.PlotItem) -> None:
        super().__init__(plot)
        self._plot = plot
        self._markers: dict[object, Marker] = {}
        self._points = pg.ScatterPlotItem(pxMode=True, hoverable=True, hoverSize=16, tip=None)
        self._points.setZValue(20)
        self._points.sigClicked.connect(self._on_clicked)
        self._points.sigHovered.connect(self._on_hovered)
        plot.addItem(self._points, ignoreBounds=True)

    def put(self, kind: MarkerKind, x: float, text: str, key: object) -> None:
        """Add a marker, or move the one with that key."""
        self.remove(key)
        line = None
        if kind in _WITH_LINE:
            line = pg.InfiniteLine(pos=x, angle=90, pen=_line_pen(kind, theme().palette))
            line.setZValue(5)
            self._plot.addItem(line, ignoreBounds=True)
        self._markers[key] = Marker(kind, x, text, key, line)

    def remove(self, key: object) -> None:
        """Take a marker away; nothing happens when there is none with that key."""
        marker = self._markers.pop(key, None)
        if marker is not None and marker.line is not None:
            self._plot.removeItem(marker.line)

    def truncate(self, x: float) -> None:
        """Take away all markers beyond `x`."""
        for key in [key for key, marker in self._markers.items() if marker.x > x]:
            self.remove(key)

    def keys(self) -> list[object]:
        """The keys of all markers."""
        return list(self._markers)

    def draw(self, height_at: Callable[[Marker], float], palette: Palette) -> None:
        """Place every marker at the height `height_at(marker)` (in the plot's own coordinates)."""
        # The best one last, so that it lies over the checkpoint it is.
        ordered = sorted(self._markers.values(), key=lambda marker: marker.kind == "best")
        spots = [
            {
                "pos": (marker.x, height_at(marker)),
                "symbol": _SYMBOLS[marker.kind],
                "size": _SIZES[marker.kind],
                "pen": pg.mkPen(_edge(marker.kind, palette), width=1.5),
                "brush": pg.mkBrush(_fill(marker.kind, palette)),
                "data": marker,
            }
            for marker in ordered
        ]
        self._points.setData(spots)
        for marker in ordered:
            if marker.line is not None:
                marker.line.setPen(_line_pen(marker.kind, palette))

    def point_at(self, key: object) -> pg.SpotItem | None:
        """The drawn point of a marker, for those who want to know where it is."""
        return next((point for point in self._points.points() if point.data().key == key), None)

    def _on_clicked(self, scatter: object, points: list[pg.SpotItem], event: object) -> None:
        if len(points):
            self.clicked.emit(points[-1].data().key)

    def _on_hovered(self, scatter: object, points: list[pg.SpotItem], event: object) -> None:
        view = self._plot.getViewWidget()
        if view is None:
            return
        if len(points):
            view.setCursor(Qt.CursorShape.PointingHandCursor)
            QToolTip.showText(QCursor.pos(), "\n".join(point.data().text for point in reversed(points)), view)
        else:
            view.unsetCursor()


def _edge(kind: MarkerKind, palette: Palette) -> QColor:
    return QColor({"checkpoint": palette.accent_text, "best": _BEST_EDGE}.get(kind, palette.surface))


def _fill(kind: MarkerKind, palette: Palette) -> QColor:
    return QColor({"best": _BEST_COLOR, "event": palette.danger, "resume": palette.info}.get(kind, palette.surface))


def _line_pen(kind: MarkerKind, palette: Palette) -> pg.QtGui.QPen:
    return pg.mkPen(QColor(palette.danger if kind == "event" else palette.info), width=1, style=Qt.PenStyle.DashLine)
