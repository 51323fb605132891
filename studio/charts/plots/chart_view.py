"""What the mouse does in a plot: a box zooms, Shift moves, Ctrl with the wheel zooms at the pointer."""

from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF, Qt, Signal
from PySide6.QtGui import QColor

from studio.charts.plots.spans import zoom_span
from studio.theme import Palette

_THIN = 12.0  # pixels: a box that is thinner says nothing about this direction
_NOTCH = 120.0  # of a wheel, in Qt's eighths of a degree
_ZOOM = 0.75  # of the range is left by one notch


class ChartView(pg.ViewBox):
    """Moves nothing itself: it tells which range the person asks for, and who hears it knows where the data end.

    Where ``heights_are_held`` the wheel and Shift reach both directions; else heights follow from the steps in view.

    Signals: `x_wanted(first, last)`; `y_wanted(bottom, top)`.
    """

    x_wanted = Signal(float, float)
    y_wanted = Signal(float, float)

    def __init__(self) -> None:
        super().__init__(enableMenu=False)
        self.heights_are_held = False
        self._moved: QRectF | None = None  # while the view is: what it showed before

    def dress(self, palette: Palette) -> None:
        """Take on a theme's colors."""
        inside = QColor(palette.accent)
        inside.setAlpha(40)
        self.rbScaleBox.setPen(pg.mkPen(QColor(palette.accent), width=1))
        self.rbScaleBox.setBrush(pg.mkBrush(inside))

    def wheelEvent(self, event: Any, axis: int | None = None) -> None:
        control, shift = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.ShiftModifier
        if not self._reacts() or not event.modifiers() & control:
            event.ignore()
            return
        event.accept()
        axis = 1 if axis is None and event.modifiers() & shift else axis
        center = self.mapSceneToView(event.scenePos())
        share = _ZOOM ** (event.delta() / _NOTCH)
        across, up = self.viewRange()
        if axis != 1:
            self.x_wanted.emit(*zoom_span(across, center.x(), share))
        if axis == 1 or (axis is None and self.heights_are_held):
            self.y_wanted.emit(*zoom_span(up, center.y(), share))

    def mouseDragEvent(self, event: Any, axis: int | None = None) -> None:
        left, middle = Qt.MouseButton.LeftButton, Qt.MouseButton.MiddleButton
        if not self._reacts() or event.button() not in (left, middle):
            event.ignore()
            return
        event.accept()
        if event.button() == middle or event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self.rbScaleBox.hide()
            if event.isStart() or self._moved is None:
                self._moved = self.viewRect()
            self._move(self._moved, event.scenePos() - event.buttonDownScenePos(), axis)
            if event.isFinish():
                self._moved = None
        else:
            self._draw_box(event.buttonDownScenePos(), event.scenePos(), axis, is_done=event.isFinish())

    def _reacts(self) -> bool:
        return any(self.mouseEnabled())

    def _move(self, start: QRectF, way: QPointF, axis: int | None) -> None:
        """From where the view was when the button went down: what comes after its edge was reached moves nothing."""
        room = self.sceneBoundingRect()
        across, up = -way.x() * start.width() / room.width(), way.y() * start.height() / room.height()
        if axis != 1:
            self.x_wanted.emit(start.left() + across, start.right() + across)
        if axis == 1 or (axis is None and self.heights_are_held):
            self.y_wanted.emit(start.top() + up, start.bottom() + up)

    def _draw_box(self, start: QPointF, end: QPointF, axis: int | None, *, is_done: bool) -> None:
        room = self.sceneBoundingRect()
        box = QRectF(start, end).normalized()
        is_wide, is_high = axis != 1 and box.width() >= _THIN, axis != 0 and box.height() >= _THIN
        if not is_wide:
            box.setLeft(room.left())
            box.setRight(room.right())
        if not is_high:
            box.setTop(room.top())
            box.setBottom(room.bottom())
        box = box.intersected(room)
        self.rbScaleBox.hide()
        if box.isEmpty() or not (is_wide or is_high):
            return
        if not is_done:
            self.updateScaleBox(self.mapFromScene(box.topLeft()), self.mapFromScene(box.bottomRight()))
            return
        lowest, highest = self.mapSceneToView(box.bottomLeft()), self.mapSceneToView(box.topRight())
        if is_wide:
            self.x_wanted.emit(lowest.x(), highest.x())
        if is_high:
            self.y_wanted.emit(lowest.y(), highest.y())
