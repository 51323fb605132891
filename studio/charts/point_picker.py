"""Points over two axes, in which a rectangle chooses some."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.charts.ground import paint_focus, paint_ground
from studio.charts.point_cloud import PointCloud
from studio.charts.ticks import tick_labels
from studio.theme import Palette, font, theme

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Guide = Literal["diagonal", "zero"]
_PAD = 10.0
_TICKS = 5
_THIN = 4.0
"""Pixels: a drag that is shorter is a click, which chooses all again."""
_BANDS = 20
"""Steps of the keyboard from one end of the x axis to the other."""


class Span(NamedTuple):
    """A rectangle in the units of the axes, its edges included."""

    left: float
    right: float
    bottom: float
    top: float


class Axis(NamedTuple):
    """One coordinate of every point, NaN for a point that has none. With ``categories`` the numbers are places among these, each
    of which is a strip."""

    title: str
    values: Floats
    categories: Sequence[str] = ()


class PointPicker(QWidget):
    """A drag chooses a rectangle, a click all again; with the keyboard the arrows go along the x axis, Shift takes in all on the
    way, Enter chooses that band, and Escape all again. Signals: `chosen(Span | None)`."""

    chosen = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        empty = np.zeros(0)
        self.x_axis, self.y_axis = Axis("", empty), Axis("", empty)
        self._guide: Guide | None = None
        self._at: tuple[Floats, Floats] = (empty, empty)  # with the strips spread
        self._ranges = (0.0, 1.0), (0.0, 1.0)
        self._cloud = PointCloud()
        self._marked: Span | None = None
        self._start: QPointF | None = None
        self._end: QPointF | None = None
        self._band: tuple[int, int] | None = None  # the keyboard's
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.CrossCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme().changed.connect(self.update)

    def set_points(self, x: Axis, y: Axis, guide: Guide | None = None) -> None:
        """Show other points: as many x as y. ``guide`` is the line of those without an error."""
        self.x_axis, self.y_axis, self._guide = x, y, guide
        self._at = _spread(x), _spread(y)
        low, high = _find_range(self._at[0], x), _find_range(self._at[1], y)
        if guide == "diagonal":  # one scale for both, so that the line is the same everywhere
            low = high = min(low[0], high[0]), max(low[1], high[1])
        elif guide == "zero":
            high = min(high[0], 0.0), max(high[1], 0.0)
        self._ranges = low, high
        self._cloud, self._band = PointCloud(*self._at, *self._ranges), None
        self.setAccessibleName(f"{len(x.values):,} points: {y.title} against {x.title}")
        self.update()

    def set_part(self, mask: Mask | None) -> None:
        """Which points are among what is chosen; None: all."""
        if self._cloud.set_part(mask):
            self.update()

    def mark(self, span: Span | None) -> None:
        """Show what is chosen here."""
        self._marked = span
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(360, 320)

    # ------------------------------------------------------------------------------------------- events

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and len(self.x_axis.values):
            self._start = self._end = event.position()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._start is not None:
            self._end = event.position()
            self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton or self._start is None or self._end is None:
            return
        box = QRectF(self._start, self._end).normalized()
        self._start = self._end = None
        is_drag = max(box.width(), box.height()) >= _THIN
        self.chosen.emit(self._find_span(box.intersected(self._room())) if is_drag else None)
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Right) and len(self.x_axis.values):
            by = 1 if key == Qt.Key.Key_Right else -1
            start, end = self._band or ((-1, -1) if by > 0 else (_BANDS, _BANDS))
            end = min(max(end + by, 0), _BANDS - 1)
            stays = self._band is not None and event.modifiers() & Qt.KeyboardModifier.ShiftModifier
            self._band = (start if stays else end, end)
            self.update()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and self._band is not None:
            span, self._band = self._find_span(self._band_box()), None
            self.chosen.emit(span)
        elif key == Qt.Key.Key_Escape and self._marked is not None:
            self.chosen.emit(None)
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        palette, room = theme().palette, self._room()
        painter = QPainter(self)
        paint_ground(painter, self)
        painter.setFont(font("caption"))
        self._paint_axes(painter, room, palette)
        if len(self.x_axis.values):
            painter.drawImage(room.topLeft(), self._cloud.find_image(room, palette, self.devicePixelRatioF()))
        self._paint_guide(painter, room, palette)
        self._paint_boxes(painter, room, palette)
        paint_focus(painter, self)

    # ------------------------------------------------------------------------------------------- inside

    def _room(self) -> QRectF:
        """Where the points are, on whole pixels."""
        metrics = QFontMetrics(font("caption"))
        line = metrics.height()
        beside = max((metrics.horizontalAdvance(words) for _, words in self._ticks(1)), default=0)
        left = round(_PAD + min(beside, 90) + 6)
        return QRectF(left, _PAD + line + 4, max(self.width() - left - _PAD, 1), max(self.height() - 3 * line - 28, 1))

    def _ticks(self, direction: int) -> list[tuple[float, str]]:
        axis, (low, high) = (self.x_axis, self.y_axis)[direction], self._ranges[direction]
        if axis.categories:
            return [(float(at), name) for at, name in enumerate(axis.categories)]
        step = find_step(low, high, _TICKS)
        values = [count * step for count in range(math.ceil(low / step), math.floor(high / step) + 1)]
        return list(zip(values, tick_labels(values, step), strict=True))

    def _place(self, direction: int, value: float, room: QRectF) -> float:
        low, high = self._ranges[direction]
        share = (value - low) / (high - low)
        return room.left() + share * room.width() if direction == 0 else room.bottom() - share * room.height()

    def _find_span(self, box: QRectF) -> Span:
        room, ((left, right), (bottom, top)) = self._room(), self._ranges
        across, up = (right - left) / room.width(), (top - bottom) / room.height()
        return Span(
            left + (box.left() - room.left()) * across,
            left + (box.right() - room.left()) * across,
            bottom + (room.bottom() - box.bottom()) * up,
            bottom + (room.bottom() - box.top()) * up,
        )

    def _band_box(self) -> QRectF:
        room, (start, end) = self._room(), sorted(self._band or (0, 0))
        width = room.width() / _BANDS
        return QRectF(room.left() + start * width, room.top(), (end - start + 1) * width, room.height())

    def _paint_axes(self, painter: QPainter, room: QRectF, palette: Palette) -> None:
        metrics = painter.fontMetrics()
        for direction in (0, 1):
            last = -math.inf
            for value, words in self._ticks(direction):
                at = self._place(direction, value, room)
                painter.setPen(QPen(QColor(palette.border), 1))
                if direction:
                    painter.drawLine(QPointF(room.left(), at), QPointF(room.right(), at))
                    painter.setPen(QColor(palette.muted))
                    wide = metrics.horizontalAdvance(words)
                    painter.drawText(QPointF(room.left() - 6 - wide, at + metrics.ascent() / 2 - 1), words)
                    continue
                painter.drawLine(QPointF(at, room.top()), QPointF(at, room.bottom()))
                most = int(room.width() / max(len(self.x_axis.categories), 1)) if self.x_axis.categories else 200
                words = metrics.elidedText(words, Qt.TextElideMode.ElideRight, max(most, 24))
                wide = metrics.horizontalAdvance(words)
                left = min(max(at - wide / 2, room.left() - 4), self.width() - wide - 2)
                if left > last + 6:
                    painter.setPen(QColor(palette.muted))
                    painter.drawText(QPointF(left, room.bottom() + metrics.ascent() + 4), words)
                    last = left + wide
        painter.setPen(QColor(palette.text))
        painter.drawText(QPointF(_PAD, _PAD + metrics.ascent() - 2), self.y_axis.title)
        title = metrics.elidedText(self.x_axis.title, Qt.TextElideMode.ElideMiddle, int(room.width()))
        wide = metrics.horizontalAdvance(title)
        painter.drawText(QPointF(room.right() - wide, self.height() - _PAD), title)

    def _paint_guide(self, painter: QPainter, room: QRectF, palette: Palette) -> None:
        if self._guide is None:
            return
        (left, right), _ = self._ranges
        ends = (left, right) if self._guide == "diagonal" else (0.0, 0.0)
        painter.setPen(QPen(QColor(palette.text), 1, Qt.PenStyle.DashLine))
        painter.drawLine(
            QPointF(room.left(), self._place(1, ends[0], room)), QPointF(room.right(), self._place(1, ends[1], room))
        )

    def _paint_boxes(self, painter: QPainter, room: QRectF, palette: Palette) -> None:
        box = None
        if self._start is not None and self._end is not None:
            box = QRectF(self._start, self._end).normalized()
        elif self._band is not None:
            box = self._band_box()
        elif self._marked is not None:
            span = self._marked
            left, right = self._place(0, span.left, room), self._place(0, span.right, room)
            top, bottom = self._place(1, span.top, room), self._place(1, span.bottom, room)
            box = QRectF(QPointF(left, top), QPointF(right, bottom))
        if box is not None:
            inside = QColor(palette.accent)
            inside.setAlpha(28)
            painter.setBrush(inside)
            painter.setPen(QPen(QColor(palette.text), 1.5))
            painter.drawRect(box.intersected(room.adjusted(-3, -3, 3, 3)))


def find_inside(x: Axis, y: Axis, span: Span) -> Mask:
    """Which points lie in ``span``, (n,)."""
    across, up = _spread(x), _spread(y)
    return (across >= span.left) & (across <= span.right) & (up >= span.bottom) & (up <= span.top)


def find_step(low: float, high: float, wanted: int) -> float:
    """1, 2 or 5 times a power of ten, so that about ``wanted`` steps go from ``low`` to ``high``."""
    rough = (high - low) / wanted
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * factor for factor in (1.0, 2.0, 5.0, 10.0) if power * factor >= rough * (1 - 1e-9))


def _spread(axis: Axis) -> Floats:
    """Numbers as they are; points of a strip beside each other, always the same way."""
    values = np.asarray(axis.values, np.float64)
    if not axis.categories:
        return values
    golden = (np.arange(len(values)) * 0.6180339887498949) % 1.0
    return values + (golden - 0.5) * 0.7


def _find_range(values: Floats, axis: Axis) -> tuple[float, float]:
    """What an axis goes over, with a little room at its ends."""
    if axis.categories:
        return -0.5, len(axis.categories) - 0.5
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    room = (high - low) * 0.03 or abs(high) * 0.1 or 1.0
    return low - room, high + room
