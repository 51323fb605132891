"""The plane of a network's two inputs: regions in the colors of their classes, the samples on top."""

from __future__ import annotations

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QWidget

from studio.charts.plots.plot_canvas import PlotCanvas, axis_width
from studio.theme import theme
from studio.widgets import vbox
from training.runs.boundary.frames import Plane, Points
from training.runs.boundary.images import Look, shade

_HEIGHT = 400
_WIDEST = 900


def theme_look() -> Look:
    """The theme's colors for regions and points."""
    palette = theme().palette
    return Look(palette.surface, palette.text, palette.curves)


class BoundaryPlot(QWidget):
    """Training samples are small dots, those of validation larger ones with a ring.

    Signals: ``clicked(x, y)`` a place of the plane.
    """

    clicked = Signal(float, float)

    def __init__(self) -> None:
        super().__init__()
        self._plane: Plane | None = None
        self._frame: np.void | None = None
        self._same_scale = False
        self.canvas = PlotCanvas()
        self.canvas.view.setMouseEnabled(x=False, y=False)
        self.canvas.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform)
        self.canvas.scene().sigMouseClicked.connect(self._on_clicked)
        self.regions = pg.ImageItem(axisOrder="row-major")
        self.regions.setZValue(-10)
        self.canvas.view.addItem(self.regions)
        self._train, self._validation = (pg.ScatterPlotItem(pxMode=True, antialias=True) for _ in range(2))
        self.canvas.view.addItem(self._train)
        self.canvas.view.addItem(self._validation)
        self.setFixedHeight(_HEIGHT)
        vbox(self.canvas, parent=self)
        theme().changed.connect(self._dress)
        self._dress()

    def show_plane(self, plane: Plane | None) -> None:
        """Show the samples of another plane, or none, without regions."""
        self._plane, self._frame = plane, None
        self.regions.clear()
        self._draw_points()
        if plane is None:
            return
        left, bottom = self.canvas.axes["left"], self.canvas.axes["bottom"]
        bottom.setLabel(plane.columns[0])
        bottom.showLabel(bool(plane.columns[0]))
        left.setLabel(plane.columns[1])
        left.showLabel(bool(plane.columns[1]))
        self._same_scale = not any(plane.columns)
        self.canvas.view.setAspectLocked(self._same_scale)
        self.updateGeometry()
        self.canvas.show_range(*plane.x, *plane.y)

    def sizeHint(self) -> QSize:
        return QSize(_HEIGHT + axis_width() if self._same_scale else _WIDEST, _HEIGHT)

    def show_frame(self, frame: np.void) -> None:
        """Color the plane as ``frame`` says."""
        self._frame = frame
        self._draw_regions()

    def _on_clicked(self, event: pg.GraphicsScene.mouseEvents.MouseClickEvent) -> None:
        box = self.canvas.view
        inside = box.sceneBoundingRect().contains(event.scenePos())
        if self._plane is not None and inside and event.button() == Qt.MouseButton.LeftButton:
            place = box.mapSceneToView(event.scenePos())
            self.clicked.emit(place.x(), place.y())

    def _draw_regions(self) -> None:
        plane, frame = self._plane, self._frame
        if plane is None or frame is None:
            return
        self.regions.setImage(shade(frame, len(plane.names), theme_look()), autoLevels=False, levels=(0, 255))
        (left, right), (bottom, top) = plane.x, plane.y
        self.regions.setRect(QRectF(left, bottom, right - left, top - bottom))

    def _draw_points(self) -> None:
        plane = self._plane
        self._train.clear()
        self._validation.clear()
        if plane is None:
            return
        ring = pg.mkPen(QColor(theme().palette.text), width=1)
        self._train.setData(x=plane.train.x, y=plane.train.y, size=4, pen=None, brush=_brushes(plane.train))
        shown = plane.validation
        self._validation.setData(x=shown.x, y=shown.y, size=7, pen=ring, brush=_brushes(shown))

    def _dress(self) -> None:
        self.canvas.dress(theme().palette)
        self.updateGeometry()  # words of another size need another width beside the plane
        for side in ("left", "bottom"):
            self.canvas.axes[side].setGrid(False)
        self._draw_points()
        self._draw_regions()


def _brushes(points: Points) -> list[object]:
    palette = theme().palette
    brushes = {number: pg.mkBrush(QColor(palette.curve(number))) for number in set(points.classes)}
    return [brushes[number] for number in points.classes]
