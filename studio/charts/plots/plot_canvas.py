"""pyqtgraph's plot, dressed by the theme: quiet axes, a faint grid."""

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from pyqtgraph.GraphicsScene.mouseEvents import MouseClickEvent
from PySide6.QtCore import QEvent, QRectF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFont,
    QFontMetrics,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QWheelEvent,
)
from PySide6.QtWidgets import QGraphicsItem, QGridLayout, QWidget

from studio.charts.plots.chart_view import ChartView
from studio.charts.ticks import log_labels, log_ticks, tick_labels
from studio.theme import Palette, font
from studio.widgets import label

Floats = NDArray[np.float64]
Line = tuple[Floats, Floats]

_BAND = 0.18  # opacity
_LONGEST = "1.002e-12"
_TICK_OFFSET = 7  # pixels between a number and its axis


def tick_font() -> QFont:
    """Of the numbers beside an axis."""
    small = font("caption")
    small.setPixelSize(max(10, small.pixelSize() - 1))
    return small


def axis_width() -> int:
    """Of the axis of values: one width for all, so that plots above each other line up."""
    return QFontMetrics(tick_font()).horizontalAdvance(_LONGEST) + _TICK_OFFSET + 2


class ValueAxis(pg.AxisItem):
    """An axis whose numbers are short, with ``unit`` behind each; ``is_whole`` where there is nothing between 1 and 2."""

    unit = ""
    is_whole = False

    def updateAutoSIPrefix(self) -> None:
        """There are none; pyqtgraph would set the axis's label as HTML at each move."""
        self.picture = None
        self.update()

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        if self.logMode:
            return log_labels(values, spacing)
        return [text + self.unit for text in tick_labels([value * scale for value in values], spacing * scale)]

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float | None, list[float]]]:
        if self.logMode:
            ticks = log_ticks(minVal, maxVal, self.geometry().height() or size)  # `size` is in device pixels
            return [(ticks.step, ticks.at)]
        levels: list[tuple[float | None, list[float]]] = super().tickValues(minVal, maxVal, size)
        # Only ordinary major ticks get a line: minor ones are noise at this size.
        return [level for level in levels[:1] if level[1]]

    def tickSpacing(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, float]]:
        levels: list[tuple[float, float]] = super().tickSpacing(minVal, maxVal, size)
        return [(max(spacing, 1.0), offset) for spacing, offset in levels[:1]] if self.is_whole else levels


class CurveItem(pg.PlotCurveItem):
    """A curve that is told its bounds: finding them out at each redraw takes as long as drawing."""

    def __init__(self) -> None:
        self._bounds = QRectF()
        super().__init__()
        # Qt needs ten times longer for one wide path than for its segments one by one.
        self.setSegmentedLineMode("on")

    def set_line(self, xs: Floats, ys: Floats, bounds: QRectF, *, antialias: bool) -> None:
        """Draw ys over xs, NaN breaking the line; `bounds` is what the plot shows."""
        if bounds != self._bounds:
            self.prepareGeometryChange()
            self._bounds = bounds
        has_gaps = bool(np.isnan(ys).any())
        connect = "finite" if has_gaps else "all"
        self.setData(xs, ys, connect=connect, skipFiniteCheck=not has_gaps, antialias=antialias)

    def boundingRect(self) -> QRectF:
        return self._bounds


class BandItem(pg.GraphicsObject):
    """The ground between two lines, pale, behind all curves."""

    def __init__(self) -> None:
        super().__init__()
        self._path, self._bounds, self._brush = QPainterPath(), QRectF(), QColor()
        self.setZValue(-2)

    def set_color(self, color: QColor) -> None:
        """That of its curve."""
        self._brush = QColor(color)
        self._brush.setAlphaF(_BAND)
        self.update()

    def set_edges(self, lower: Line, upper: Line, bounds: QRectF) -> None:
        """Fill what lies between; places where an edge is missing are passed over."""
        if bounds != self._bounds:
            self.prepareGeometryChange()
            self._bounds = bounds
        xs, ys = (np.concatenate([low, high[::-1]]) for low, high in zip(lower, upper, strict=True))
        there = np.isfinite(ys)
        self._path = pg.arrayToQPath(xs[there], ys[there], connect="all") if there.any() else QPainterPath()
        self.update()

    def boundingRect(self) -> QRectF:
        return self._bounds

    def paint(self, painter: QPainter, *_: object) -> None:
        painter.fillPath(self._path, self._brush)


class PlotCanvas(pg.GraphicsView):
    """A view with an axis at its left and one below. Not pyqtgraph's PlotItem, which makes a form of options, seven menus and two
    more axes for each plot: half of what it costs to open a chart.

    Signals: `pointed(x | None)` under the mouse; `fit_wanted()` on a double click; `moved_by_hand(first, last)` and
    `stretched_by_hand(bottom, top)`, ranges that a person asks for; `clicked(x, y)` on the plane."""

    pointed = Signal(object)
    clicked = Signal(float, float)
    fit_wanted = Signal()
    moved_by_hand = Signal(float, float)
    stretched_by_hand = Signal(float, float)

    def __init__(self) -> None:
        super().__init__()
        self.view = ChartView()
        self.axes = {side: ValueAxis(side) for side in ("left", "bottom")}
        self.setObjectName("canvas")
        self.setMinimumHeight(90)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.view.disableAutoRange()
        self.centralLayout.setContentsMargins(1, 3, 3, 1)
        self.centralLayout.setSpacing(0)
        for item, row, column in ((self.view, 0, 1), (self.axes["left"], 0, 0), (self.axes["bottom"], 1, 1)):
            self.centralLayout.addItem(item, row, column)
        self.view.x_wanted.connect(self.moved_by_hand)
        self.view.y_wanted.connect(self.stretched_by_hand)
        for axis in self.axes.values():
            axis.linkToView(self.view)
            axis.setZValue(-1)  # the grid belongs to the axes, and below the curves
            axis.setFlag(QGraphicsItem.GraphicsItemFlag.ItemNegativeZStacksBehindParent)
            axis.setStyle(tickLength=0, tickTextOffset=_TICK_OFFSET, autoExpandTextSpace=False)
            axis.setCacheMode(QGraphicsItem.CacheMode.DeviceCoordinateCache)  # texts are dear and seldom change
        self.scene().sigMouseMoved.connect(self._on_mouse_moved)
        self.scene().sigMouseClicked.connect(self._on_mouse_clicked)

    def dress(self, palette: Palette) -> None:
        """Take on a theme's colors."""
        self.setBackground(QColor(palette.surface))
        self.view.dress(palette)
        small = tick_font()
        for axis in self.axes.values():
            axis.setPen(pg.mkPen(QColor(palette.border), width=1))
            axis.setTextPen(pg.mkPen(QColor(palette.muted)))
            axis.setTickFont(small)
        self.axes["left"].setWidth(axis_width())
        self.axes["left"].setGrid(150)
        self.axes["bottom"].setGrid(90)

    def show_range(self, first: float, last: float, bottom: float, top: float, *, held: bool = False) -> None:
        """Show exactly this part of the plane; ``held``: a person chose its heights."""
        view = self.view
        view.heights_are_held = held
        if view.viewRange() != [[first, last], [bottom, top]]:
            view.setRange(xRange=(first, last), yRange=(bottom, top), padding=0, disableAutoRange=True)

    def pixels(self) -> int:
        """How many device-independent pixels the x range is drawn on."""
        return max(50, round(self.view.width()))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.pointed.emit(None)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            super().wheelEvent(event)
        else:
            event.ignore()  # the page is scrolled

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        event.ignore()  # it is whose part this is

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.RightButton:  # pyqtgraph would wait for a release that the menu gets
            super().mousePressEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        super().mouseDoubleClickEvent(event)
        self.fit_wanted.emit()

    def _on_mouse_moved(self, position: object) -> None:
        view = self.view
        inside = view.sceneBoundingRect().contains(position)
        self.pointed.emit(view.mapSceneToView(position).x() if inside else None)

    def _on_mouse_clicked(self, event: MouseClickEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and not event.isAccepted() and not event.double():
            at = self.view.mapSceneToView(event.scenePos())
            self.clicked.emit(at.x(), at.y())


class PlotArea(QWidget):
    """Empty at first. Words and canvas take the same room."""

    def __init__(self) -> None:
        super().__init__()
        self.canvas = PlotCanvas()
        policy = self.canvas.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.canvas.setSizePolicy(policy)
        self.canvas.hide()
        self.words = label("No data yet", "caption")
        self.words.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.addWidget(self.canvas, 0, 0)
        grid.addWidget(self.words, 0, 0, Qt.AlignmentFlag.AlignCenter)

    def take_words_back(self) -> None:
        """Data came, and will be drawn soon: what the words say is not true any more."""
        if not self.words.isHidden():
            self.words.hide()

    def show_drawing(self, on: bool) -> None:
        """The canvas, or the words."""
        self.words.setVisible(not on)
        if self.canvas.isHidden() == on:
            self.canvas.setVisible(on)
            # Qt paints at once where a widget was hidden, and where one is shown only with its next events: until then
            # the curve would be seen through the hole that the words leave.
            self.canvas.viewport().update()
