"""A slice plot: one setting across, the result up, a point for each trial. Painted directly, as Scatter is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy

from studio.charts.cell_tips import CellTips
from studio.charts.plots.curve import curve_color
from studio.charts.ticks import log_labels, log_ticks, reading
from studio.theme import Palette, font, theme

_TOP, _RIGHT, _LEFT = 26.0, 14.0, 58.0
_EDGE = 10.0  # between the frame and the outermost points
_SIZE, _REACH = 4.0, 12.0
BEST_COLOR, CHOSEN_COLOR, OTHER_COLOR = 0, 1, 7
"""The numbers of the curves' colors that trials have in all charts of a sweep."""


@dataclass(frozen=True)
class SliceScale:
    """``title`` of the setting; a range from ``low`` to ``high``, by ratio where ``log``, or ``choices``."""

    title: str
    low: float = 0.0
    high: float = 1.0
    log: bool = False
    choices: tuple[str, ...] = ()

    def place(self, value: float | str) -> float | None:
        """From 0 to 1; None for a value that is none of it."""
        if self.choices:
            if value not in self.choices:
                return None
            return (self.choices.index(str(value)) + 0.5) / len(self.choices)
        if isinstance(value, str) or (self.log and value <= 0):
            return None
        low, high, at = (math.log(each) if self.log else each for each in (self.low, self.high, value))
        return (at - low) / (high - low) if high > low else 0.5

    def ticks(self, length: float) -> list[tuple[float, str]]:
        """Places and what stands there, on an axis of so many pixels."""
        if self.choices:
            return [(self.place(each) or 0.0, each) for each in self.choices]
        if self.log:
            found = log_ticks(math.log10(self.low), math.log10(self.high), length)
            labels = log_labels(found.at, found.step)
            return [(self.place(10.0**at) or 0.0, text) for at, text in zip(found.at, labels, strict=True)]
        values = [self.low, (self.low + self.high) / 2, self.high]
        return [(self.place(at) or 0.0, f"{at:.4g}") for at in values]


@dataclass(frozen=True)
class SlicePoint:
    """A trial: what it is called, its setting and its result; ``pale`` where it was not trained to its end."""

    number: int
    value: float | str
    result: float
    pale: bool = False


class SlicePlot(CellTips):
    """Signals: `point_pressed(int)`, the number of a trial that was clicked."""

    point_pressed = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self._scale, self._result = SliceScale(""), ""
        self._read: Callable[[float], str] = reading
        self._points: Sequence[SlicePoint] = ()
        self._best: int | None = None
        self._marked: int | None = None
        self._low = self._high = 0.0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMinimumWidth(200)
        theme().changed.connect(self.update)

    def show_points(
        self,
        scale: SliceScale,
        result: str,
        points: Sequence[SlicePoint],
        best: int | None,
        read: Callable[[float], str] = reading,
    ) -> None:
        """Draw other trials; ``result`` is the name of what is up, which ``read`` writes, ``best`` the number of the best one."""
        self._scale, self._result, self._best, self._read = scale, result, best, read
        self._points = [point for point in points if math.isfinite(point.result)]
        results = [point.result for point in self._points]
        self._low, self._high = (min(results), max(results)) if results else (0.0, 1.0)
        self.setAccessibleName(f"{result} of {len(self._points)} trials over {scale.title}")
        self.update()

    def mark(self, number: int | None) -> None:
        """Draw a ring around a trial, or around none."""
        self._marked = number
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(300, 210)

    def words_at(self, position: QPointF) -> str:
        near = self._find(position)
        if near is None:
            return ""
        value = near.value if isinstance(near.value, str) else reading(near.value)
        return f"Trial {near.number}{' (pruned)' if near.pale else ''}\n{self._scale.title}: {value}\n{self._result}: {self._read(near.result)}"

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and (near := self._find(event.position())) is not None:
            self.point_pressed.emit(near.number)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, palette = QPainter(self), theme().palette
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_axes(painter, palette)
        for point in sorted(self._points, key=lambda each: (each.number in (self._best, self._marked), not each.pale)):
            at = self._spot(point)
            if at is None:
                continue
            is_best, is_marked = point.number == self._best, point.number == self._marked
            index = BEST_COLOR if is_best else CHOSEN_COLOR if is_marked else OTHER_COLOR
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(curve_color(palette, index, is_faded=point.pale and not is_marked))
            size = _SIZE + 1.5 if is_best or is_marked else _SIZE
            painter.drawEllipse(at, size, size)
            if is_marked:
                painter.setBrush(Qt.BrushStyle.NoBrush)
                painter.setPen(QPen(curve_color(palette, CHOSEN_COLOR), 2))
                painter.drawEllipse(at, size + 3, size + 3)

    def _paint_axes(self, painter: QPainter, palette: Palette) -> None:
        painter.setFont(font("caption"))
        metrics, room = painter.fontMetrics(), self._room()
        painter.setPen(QPen(QColor(palette.border), 1))
        painter.drawRect(room)
        painter.setPen(QColor(palette.text))
        title = metrics.elidedText(self._scale.title, Qt.TextElideMode.ElideMiddle, int(room.width()))
        painter.drawText(QRectF(room.left(), 0, room.width(), _TOP), Qt.AlignmentFlag.AlignCenter, title)
        painter.setPen(QColor(palette.muted))
        middle = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        for result in dict.fromkeys((self._low, self._high)) if self._points else ():
            y, high = self._up(result), metrics.height()
            painter.drawText(QRectF(0, y - high / 2, _LEFT - 6, high), middle, self._read(result))
        last = -math.inf
        for place, text in self._scale.ticks(room.width()):
            wide = min(metrics.horizontalAdvance(text), 110)
            x = room.left() + _EDGE + place * (room.width() - 2 * _EDGE)
            left = min(max(x - wide / 2, room.left() - 20), self.width() - wide - 1)
            if left < last + 6:
                continue
            last = left + wide
            shown = metrics.elidedText(text, Qt.TextElideMode.ElideRight, 110)
            painter.drawText(QRectF(left, room.bottom() + 3, wide + 2, metrics.height()), 0, shown)

    def _room(self) -> QRectF:
        below = QFontMetrics(font("caption")).height() + 5
        return QRectF(_LEFT, _TOP, max(self.width() - _LEFT - _RIGHT, 1), max(self.height() - _TOP - below, 1))

    def _up(self, result: float) -> float:
        room = self._room()
        share = (result - self._low) / (self._high - self._low) if self._high > self._low else 0.5
        return room.bottom() - _EDGE - share * (room.height() - 2 * _EDGE)

    def _spot(self, point: SlicePoint) -> QPointF | None:
        place, room = self._scale.place(point.value), self._room()
        if place is None:
            return None
        if self._scale.choices:  # beside each other, the same way each time
            place += ((point.number * 0.618) % 1 - 0.5) * 0.5 / len(self._scale.choices)
        return QPointF(room.left() + _EDGE + place * (room.width() - 2 * _EDGE), self._up(point.result))

    def _find(self, at: QPointF) -> SlicePoint | None:
        spots = [(point, self._spot(point)) for point in self._points]
        far = [(math.hypot((spot - at).x(), (spot - at).y()), point) for point, spot in spots if spot is not None]
        nearest = min(far, key=lambda each: each[0], default=None)
        return nearest[1] if nearest is not None and nearest[0] <= _REACH else None
