"""Quantities over what goes by factors (a learning rate, a batch size): panes below each other with one logarithmic axis, painted directly."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.charts.ground import paint_ground
from studio.charts.ticks import log_labels, log_ticks, reading, tick_labels
from studio.theme import Palette, Tone, font, theme

Look = Literal["faint", "thin", "bold", "dots"]
Floats = NDArray[np.float64]

_PAD = 10.0
_GAP = 5.0
_DOT = 4.0
_MOST_TICKS = 4
_WIDTHS: dict[Look, float] = {"faint": 1.0, "thin": 1.0, "bold": 2.4, "dots": 1.2}


@dataclass(frozen=True)
class LogLine:
    """``x`` are the values themselves, above 0, rising; of ``y`` what is not finite leaves a gap. A "faint" one does not count for the range
    where others do."""

    name: str
    x: Floats
    y: Floats
    look: Look = "bold"
    color: int = 0


@dataclass(frozen=True)
class LogMark:
    """A line across all panes at ``x``, with a word."""

    x: float
    text: str
    tone: Tone = "neutral"


@dataclass(frozen=True)
class Pane:
    """``level`` is a line at that height with its word; ``read`` says a value as people read it, ``tick`` one of the scale. ``from_zero``: 0 is in the range."""

    title: str
    lines: tuple[LogLine, ...]
    read: Callable[[float], str] = reading
    tick: Callable[[float], str] | None = None
    level: tuple[float, str] | None = None
    from_zero: bool = False
    share: float = 1.0  # of the height


class _Room(NamedTuple):
    """Where a pane lies, and the values at its edges."""

    box: QRectF
    low: float
    high: float

    def height_of(self, value: float) -> float:
        return self.box.bottom() - (value - self.low) / ((self.high - self.low) or 1.0) * self.box.height()


@dataclass
class _Shown:
    panes: tuple[Pane, ...] = ()
    x_title: str = ""
    low: float = 0.0  # decimal logarithms
    high: float = 1.0
    marks: tuple[LogMark, ...] = ()
    at: tuple[float, ...] = field(default=())  # values that have a number each, "" for those of the scale


class LogChart(QWidget):
    """Under the mouse the values of all lines at the nearest place are told."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name, self._shown = name, _Shown()
        self._cursor: float | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(260, 220)
        self.setMouseTracking(True)
        self.setAccessibleName(name)
        theme().changed.connect(self.update)

    def show_panes(
        self,
        panes: Sequence[Pane],
        x_title: str,
        band: tuple[float, float],
        marks: Sequence[LogMark] = (),
        at: Sequence[float] = (),
    ) -> None:
        """Draw others, from ``band``'s first value to its second; the axis has numbers ``at`` these places, or its own."""
        low, high = (math.log10(each) for each in band)
        if high - low < 1e-6:
            low, high = low - 0.15, high + 0.15
        kept = sorted((mark for mark in marks if math.isfinite(mark.x) and mark.x > 0), key=lambda mark: mark.x)
        self._shown = _Shown(tuple(panes), x_title, low, high, tuple(kept), tuple(at))
        told = "; ".join(f"{mark.text} {mark.x:.2g}" for mark in kept)
        self.setAccessibleName(f"{self._name}. {told}" if told else self._name)
        self.update()

    @property
    def panes(self) -> tuple[Pane, ...]:
        """What is drawn."""
        return self._shown.panes

    @property
    def marks(self) -> tuple[LogMark, ...]:
        """What is marked, from left to right."""
        return self._shown.marks

    def sizeHint(self) -> QSize:
        return QSize(520, 200 + 130 * len(self._shown.panes))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._cursor = event.position().x()
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        self._cursor = None
        self.update()

    # ------------------------------------------------------------------------------------------- painting

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, palette = QPainter(self), theme().palette
        paint_ground(painter, self)
        painter.setFont(font("caption"))
        if not self._shown.panes:
            return
        rooms = self._find_rooms(painter)
        x = self._choose_x(rooms[0].box) if self._cursor is not None else None
        for pane, room in zip(self._shown.panes, rooms, strict=True):
            self._paint_frame(painter, palette, pane, room, x)
            painter.save()
            painter.setClipRect(room.box.adjusted(-_DOT - 1, -_DOT - 1, _DOT + 1, _DOT + 1))
            for line in pane.lines:
                self._paint_line(painter, palette, line, room)
            painter.restore()
        self._paint_axis(painter, palette, rooms[-1].box)
        self._paint_marks(painter, palette, rooms)
        if x is not None:
            painter.setPen(QPen(QColor(palette.faint), 1))
            for room in rooms:
                at = self._place(x, room.box)
                painter.drawLine(QPointF(at, room.box.top()), QPointF(at, room.box.bottom()))
        painter.end()

    def _find_rooms(self, painter: QPainter) -> list[_Room]:
        metrics = painter.fontMetrics()
        line = metrics.height()
        ranges = [_find_range(pane) for pane in self._shown.panes]
        widest = max(
            metrics.horizontalAdvance(text)
            for pane, (low, high) in zip(self._shown.panes, ranges, strict=True)
            for text in _choose_ticks(pane, low, high)[1]
        )
        left, right = _PAD + widest + _GAP, self.width() - _PAD - line
        above = self._count_mark_rows(painter, left, right) * (line + 1)
        free = self.height() - 2 * _PAD - above - 2 * line - len(ranges) * (line + 2 * _GAP)
        shares = sum(pane.share for pane in self._shown.panes)
        rooms, top = [], _PAD + above
        for pane, (low, high) in zip(self._shown.panes, ranges, strict=True):
            top += line + _GAP
            height = max(free * pane.share / shares, 20.0)
            rooms.append(_Room(QRectF(left, top, max(right - left, 20.0), height), low, high))
            top += height + _GAP
        return rooms

    def _place(self, x: float, box: QRectF) -> float:
        shown = self._shown
        return box.left() + (math.log10(x) - shown.low) / (shown.high - shown.low) * box.width()

    def _choose_x(self, box: QRectF) -> float | None:
        """The nearest place at which something was measured."""
        assert self._cursor is not None
        places = {float(x) for pane in self._shown.panes for line in pane.lines for x in line.x}
        if not places or not box.left() - _PAD <= self._cursor <= box.right() + _PAD:
            return None
        cursor = self._cursor
        return min(places, key=lambda x: abs(self._place(x, box) - cursor))

    def _paint_frame(self, painter: QPainter, palette: Palette, pane: Pane, room: _Room, x: float | None) -> None:
        box, line = room.box, painter.fontMetrics().height()
        values, words = _choose_ticks(pane, room.low, room.high)
        for value, text in zip(values, words, strict=True):
            height = room.height_of(value)
            painter.setPen(QPen(QColor(palette.border), 1))
            painter.drawLine(QPointF(box.left(), height), QPointF(box.right(), height))
            painter.setPen(QColor(palette.muted))
            beside = QRectF(0, height - line / 2, box.left() - _GAP, line)
            painter.drawText(beside, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, text)
        if pane.level is not None and room.low <= pane.level[0] <= room.high:
            height = room.height_of(pane.level[0])
            painter.setPen(QPen(QColor(palette.warning), 1, Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(box.left(), height), QPointF(box.right(), height))
            below = QRectF(box.left() + _GAP, height + 1, box.width() - 2 * _GAP, line)
            painter.drawText(below, Qt.AlignmentFlag.AlignLeft, pane.level[1])
        self._paint_title(painter, palette, pane, box, x)

    def _paint_title(self, painter: QPainter, palette: Palette, pane: Pane, box: QRectF, x: float | None) -> None:
        """The title, then the lines with their colors; under the mouse with their values."""
        metrics = painter.fontMetrics()
        head = QRectF(box.left(), box.top() - metrics.height() - _GAP, box.width(), metrics.height())
        painter.setPen(QColor(palette.text))
        title = pane.title if x is None else f"{pane.title} at {x:.3g}"
        painter.drawText(head, Qt.AlignmentFlag.AlignLeft, title)
        left = head.left() + metrics.horizontalAdvance(title) + 3 * _GAP
        for line in pane.lines:
            text = line.name
            if x is not None:
                at = np.flatnonzero(np.isclose(line.x, x, rtol=1e-6))
                text = f"{line.name} {pane.read(float(line.y[at[0]]))}" if len(at) else ""
            if not text:
                continue
            width = metrics.horizontalAdvance(text)
            if left + 14 + width > head.right():
                break
            middle = head.center().y()
            painter.setPen(QPen(_color(palette, line), max(_WIDTHS[line.look], 1.5)))
            painter.drawLine(QPointF(left, middle), QPointF(left + 9, middle))
            painter.setPen(QColor(palette.muted))
            painter.drawText(QRectF(left + 14, head.top(), width + 1, head.height()), Qt.AlignmentFlag.AlignLeft, text)
            left += 14 + width + 3 * _GAP

    def _paint_line(self, painter: QPainter, palette: Palette, line: LogLine, room: _Room) -> None:
        color = _color(palette, line)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.setPen(QPen(color, _WIDTHS[line.look]))
        finite = np.isfinite(line.y)
        points = [
            QPointF(self._place(float(x), room.box), room.height_of(float(y)))
            for x, y in zip(line.x[finite], line.y[finite], strict=True)
        ]
        if len(points) > 1:
            painter.drawPolyline(QPolygonF(points))
        if line.look == "dots" or len(points) == 1:
            painter.setPen(QPen(QColor(palette.sunken), 1.5))
            painter.setBrush(color)
            for point in points:
                painter.drawEllipse(point, _DOT, _DOT)
        if line.look == "dots":  # what has no number is said at the edge, and not left out
            painter.setPen(QPen(QColor(palette.danger), 2))
            for x in line.x[~finite]:
                at = QPointF(self._place(float(x), room.box), room.box.bottom() - _DOT)
                painter.drawLine(at + QPointF(-_DOT, -_DOT), at + QPointF(_DOT, _DOT))
                painter.drawLine(at + QPointF(-_DOT, _DOT), at + QPointF(_DOT, -_DOT))

    def _paint_axis(self, painter: QPainter, palette: Palette, box: QRectF) -> None:
        metrics, shown = painter.fontMetrics(), self._shown
        if shown.at:
            places, words = list(shown.at), [f"{value:,.4g}" for value in shown.at]
        else:
            ticks = log_ticks(shown.low, shown.high, box.width())
            places, words = [10.0**each for each in ticks.at], log_labels(ticks.at, ticks.step)
        last = -math.inf
        painter.setPen(QColor(palette.muted))
        for value, text in zip(places, words, strict=True):
            middle, width = self._place(value, box), metrics.horizontalAdvance(text)
            if middle - width / 2 < last + 2 * _GAP:
                continue
            last = middle + width / 2
            painter.drawLine(QPointF(middle, box.bottom()), QPointF(middle, box.bottom() + 3))
            room = QRectF(middle - width / 2 - 2, box.bottom() + _GAP, width + 4, metrics.height())
            painter.drawText(room, Qt.AlignmentFlag.AlignCenter, text)
        under = QRectF(box.left(), box.bottom() + _GAP + metrics.height(), box.width(), metrics.height())
        painter.drawText(under, Qt.AlignmentFlag.AlignCenter, shown.x_title)

    def _place_marks(self, painter: QPainter, left: float, right: float) -> list[tuple[LogMark, int, float]]:
        """Of each its row above the panes and where its word begins: none runs into another."""
        box = QRectF(left, 0, right - left, 1)
        ends: list[float] = []
        placed = []
        for mark in self._shown.marks:
            width = painter.fontMetrics().horizontalAdvance(mark.text)
            begin = min(max(self._place(mark.x, box) - width / 2, left), max(right - width, left))
            row = next((row for row, end in enumerate(ends) if begin > end + 2 * _GAP), len(ends))
            ends[row : row + 1] = [begin + width]
            placed.append((mark, row, begin))
        return placed

    def _count_mark_rows(self, painter: QPainter, left: float, right: float) -> int:
        return max((row + 1 for _mark, row, _begin in self._place_marks(painter, left, right)), default=0)

    def _paint_marks(self, painter: QPainter, palette: Palette, rooms: Sequence[_Room]) -> None:
        box, metrics = rooms[0].box, painter.fontMetrics()
        for mark, row, begin in self._place_marks(painter, box.left(), box.right()):
            color, at = QColor(palette.tone(mark.tone)), self._place(mark.x, box)
            top = _PAD + row * (metrics.height() + 1)
            strong = mark.tone != "neutral"
            painter.setPen(QPen(color, 2 if strong else 1, Qt.PenStyle.SolidLine if strong else Qt.PenStyle.DashLine))
            for room in rooms:
                if room.box.left() <= at <= room.box.right():
                    painter.drawLine(QPointF(at, room.box.top()), QPointF(at, room.box.bottom()))
            painter.setPen(color)
            painter.drawText(QPointF(begin, top + metrics.ascent()), mark.text)


def _color(palette: Palette, line: LogLine) -> QColor:
    color = QColor(palette.curve(line.color))
    if line.look == "faint":
        color.setAlpha(110)
    return color


def _find_range(pane: Pane) -> tuple[float, float]:
    counted = [line for line in pane.lines if line.look != "faint"] or list(pane.lines)
    every = np.concatenate([line.y for line in counted]) if counted else np.empty(0)
    finite = every[np.isfinite(every)]
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    if pane.level is not None and pane.level[0] < 1.5 * high:
        high = max(high, pane.level[0])
    if pane.from_zero:
        low = min(low, 0.0)
    spare = 0.06 * (high - low) or abs(high) * 0.05 or 0.5
    return (low if pane.from_zero else low - spare), high + spare


def _choose_ticks(pane: Pane, low: float, high: float) -> tuple[list[float], list[str]]:
    """Round values between both, and their texts."""
    rough = (high - low) / _MOST_TICKS
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * each for each in (1.0, 2.0, 5.0, 10.0) if size * each >= rough)
    values = [count * step for count in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return values, [pane.tick(value) for value in values] if pane.tick else tick_labels(values, step)
