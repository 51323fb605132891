"""Parallel coordinates: an axis for each setting and one for the result, a line through them for each run."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from studio.charts.plots.curve import curve_color
from studio.charts.ticks import reading
from studio.theme import font, theme

_EDGE, _HEAD, _FOOT = 64, 34, 26
_WIDE = 128  # pixels from one axis to the next, at least
_REACH = 8.0
_LOG_FROM = 50.0  # times the smallest: numbers that reach farther are placed by their logarithms


@dataclass(frozen=True)
class AxisValues:
    """One axis: ``values`` of each run, numbers or words; None where a run has none. ``read`` says how numbers are written."""

    title: str
    values: tuple[float | str | None, ...]
    read: Callable[[float], str] = reading


class _Scale:
    """Places of one axis's values, 0 at the bottom to 1 at the top."""

    def __init__(self, axis: AxisValues) -> None:
        there = [value for value in axis.values if value is not None]
        numbers = [float(value) for value in there if isinstance(value, int | float) and not isinstance(value, bool)]
        self._words: list[str] = []
        self._is_log, self._read = False, axis.read
        if len(numbers) < len(there) or not all(math.isfinite(number) for number in numbers):
            self._words = sorted({str(value) for value in there})
        elif numbers:
            self._is_log = min(numbers) > 0 and max(numbers) > _LOG_FROM * min(numbers)
        self._low, self._high = (min(numbers), max(numbers)) if numbers else (0.0, 1.0)

    def place(self, value: float | str | None) -> float | None:
        if value is None:
            return None
        if self._words:
            return self._words.index(str(value)) / (len(self._words) - 1) if len(self._words) > 1 else 0.5
        low, high, at = (math.log(each) if self._is_log else each for each in (self._low, self._high, float(value)))
        return (at - low) / (high - low) if high > low else 0.5

    def ticks(self) -> list[tuple[float, str]]:
        if self._words:
            most = self._words if len(self._words) <= 8 else [self._words[0], self._words[-1]]
            return [(self.place(word) or 0.0, word) for word in most]
        if self._low == self._high:
            return [(0.5, self._read(self._low))]
        return [(0.0, self._read(self._low)), (1.0, self._read(self._high))]


class ParallelAxes(QWidget):
    """Signals: `line_pressed(int)`, the number of a run whose line was clicked."""

    line_pressed = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self._axes: list[tuple[AxisValues, _Scale]] = []
        self._names: Sequence[str] = ()
        self._colors: Sequence[int] = ()
        self._near: int | None = None
        self._marked: int | None = None
        self._pale: Collection[int] = ()
        self.setMouseTracking(True)
        self.setAccessibleName("Parallel coordinates of settings and result")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumHeight(200)
        theme().changed.connect(self.update)

    def show_runs(
        self, axes: Sequence[AxisValues], names: Sequence[str], colors: Sequence[int], pale: Collection[int] = ()
    ) -> None:
        """One line for each name, behind the others that of ``pale`` numbers; the last axis is the result."""
        self._axes = [(axis, _Scale(axis)) for axis in axes]
        self._names, self._colors, self._pale, self._near = names, colors, pale, None
        self._marked = None
        self.setMinimumWidth(2 * _EDGE + _WIDE * max(len(axes) - 1, 1))
        self.setAccessibleDescription(f"{len(names)} runs over " + ", ".join(axis.title for axis in axes))
        self.update()

    def mark(self, number: int | None) -> None:
        """Draw one line wide, or none."""
        self._marked = number
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(self.minimumWidth(), 260)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, palette = QPainter(self), theme().palette
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        small = font("caption")
        painter.setFont(small)
        metrics = QFontMetrics(small)
        in_front = {self._near, self._marked} - {None}
        for number in sorted(range(len(self._names)), key=lambda each: each not in self._pale):
            if number not in in_front:
                self._draw_line(painter, number, 1.4, faded=self._near is not None or number in self._pale)
        for front in in_front:
            if front is not None and front < len(self._names):
                self._draw_line(painter, front, 3.0, faded=False)
        for at, (axis, scale) in enumerate(self._axes):
            x = self._x(at)
            painter.setPen(QPen(QColor(palette.border), 1.5))
            painter.drawLine(QPointF(x, self._y(0)), QPointF(x, self._y(1)))
            painter.setPen(QColor(palette.text))
            title = metrics.elidedText(axis.title, Qt.TextElideMode.ElideMiddle, _WIDE - 8)
            painter.drawText(QRectF(x - _WIDE / 2, 0, _WIDE, _HEAD - 14), Qt.AlignmentFlag.AlignCenter, title)
            painter.setPen(QColor(palette.muted))
            for place, word in scale.ticks():
                text = metrics.elidedText(word, Qt.TextElideMode.ElideRight, _WIDE - 30)
                width = metrics.horizontalAdvance(text) + 6
                ground = QRectF(x - width / 2, self._y(place) - metrics.height() / 2, width, metrics.height())
                painter.fillRect(ground, QColor(palette.surface))
                painter.drawText(ground, Qt.AlignmentFlag.AlignCenter, text)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        near = self._find(event.position())
        if near != self._near:
            self._near = near
            self.update()
        if near is not None:
            says = [f"{axis.title}: {_say(axis, near)}" for axis, _ in self._axes]
            QToolTip.showText(event.globalPosition().toPoint(), "\n".join([self._names[near], *says]), self)
        else:
            QToolTip.hideText()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and (near := self._find(event.position())) is not None:
            self.line_pressed.emit(near)

    def _points(self, number: int) -> list[QPointF]:
        """Where a run's line crosses the axes; it passes over those that it has no value for."""
        places = [(at, scale.place(axis.values[number])) for at, (axis, scale) in enumerate(self._axes)]
        return [QPointF(self._x(at), self._y(place)) for at, place in places if place is not None]

    def _draw_line(self, painter: QPainter, number: int, width: float, *, faded: bool) -> None:
        painter.setPen(QPen(curve_color(theme().palette, self._colors[number], is_faded=faded), width))
        painter.drawPolyline(self._points(number))

    def _find(self, at: QPointF) -> int | None:
        found = [(_distance(at, self._points(number)), number) for number in range(len(self._names))]
        nearest = min(found, default=(math.inf, -1))
        return nearest[1] if nearest[0] <= _REACH else None

    def _x(self, at: int) -> float:
        return _EDGE + at * (self.width() - 2 * _EDGE) / max(len(self._axes) - 1, 1)

    def _y(self, place: float) -> float:
        return self.height() - _FOOT - place * (self.height() - _HEAD - _FOOT)


def _distance(at: QPointF, points: list[QPointF]) -> float:
    """Pixels from a line, up or down."""
    for one, other in pairwise(points):
        if one.x() <= at.x() <= other.x() and other.x() > one.x():
            share = (at.x() - one.x()) / (other.x() - one.x())
            return abs(one.y() + share * (other.y() - one.y()) - at.y())
    return math.inf


def _say(axis: AxisValues, run: int) -> str:
    value = axis.values[run]
    return "–" if value is None else value if isinstance(value, str) else axis.read(float(value))
