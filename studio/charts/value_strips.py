"""Rows of single values as dots, with their mean and its interval, on one scale that need not begin at 0. Painted directly."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy

from studio.charts.cell_tips import CellTips
from studio.charts.ticks import reading
from studio.theme import font, theme

_GAP = 12
_NO_LIMITS = (-math.inf, math.inf)
_DOT = 4.0
_HALF = 9.0  # of the height of a mean's line


@dataclass(frozen=True)
class Strip:
    """A row; ``low`` and ``high`` are NaN where one value tells no interval. ``text`` stands at its right."""

    label: str
    values: tuple[float, ...]
    mean: float
    low: float
    high: float
    text: str


class ValueStrips(CellTips):
    """As high as its rows and the scale below them."""

    def __init__(self) -> None:
        super().__init__()
        self.strips: tuple[Strip, ...] = ()
        self._read: Callable[[float], str] = reading
        self._limits = _NO_LIMITS
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme().changed.connect(self.update)

    def show_strips(
        self,
        name: str,
        strips: Sequence[Strip],
        read: Callable[[float], str] = reading,
        limits: tuple[float, float] | None = None,
    ) -> None:
        """Show other rows; ``name`` says of what, ``read`` a value as people read it. The scale ends at ``limits`` at most."""
        self.strips, self._read, self._limits = tuple(strips), read, limits or _NO_LIMITS
        self.setAccessibleName("; ".join([name, *(f"{each.label} {each.text}" for each in self.strips)]))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(420, len(self.strips) * self._row_height() + QFontMetrics(font("caption")).height() + 6)

    def minimumSizeHint(self) -> QSize:
        return QSize(240, self.sizeHint().height())

    def words_at(self, position: QPointF) -> str:
        number = int(position.y() // self._row_height())
        if not 0 <= number < len(self.strips):
            return ""
        strip = self.strips[number]
        return f"{strip.label}: {', '.join(self._read(value) for value in strip.values)}"

    def _row_height(self) -> int:
        return QFontMetrics(font("body")).height() + 18

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self.strips:
            return
        palette, height = theme().palette, self._row_height()
        body, small = font("body"), font("caption")
        names, figures = QFontMetrics(body), QFontMetrics(small)
        name_width = min(max(names.horizontalAdvance(each.label) for each in self.strips) + 1, self.width() // 4)
        text_width = max(figures.horizontalAdvance(each.text) for each in self.strips) + 1
        left, right = name_width + _GAP, max(self.width() - text_width - _GAP, name_width + _GAP + 40)
        low, high = self._find_range()

        def place(value: float) -> float:
            value = min(max(value, low), high)  # an interval may pass what can be
            return left + _DOT + (value - low) / ((high - low) or 1.0) * (right - left - 2 * _DOT)

        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for number, strip in enumerate(self.strips):
            row = QRectF(0, number * height, self.width(), height)
            middle, color = row.center().y(), QColor(palette.curve(number))
            painter.setFont(body)
            painter.setPen(QColor(palette.text))
            words = names.elidedText(strip.label, Qt.TextElideMode.ElideRight, name_width)
            painter.drawText(row, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, words)
            painter.setFont(small)
            painter.setPen(QColor(palette.muted))
            painter.drawText(row, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, strip.text)
            painter.setPen(QPen(QColor(palette.border), 1))
            painter.drawLine(QPointF(left, middle), QPointF(right, middle))
            painter.setPen(Qt.PenStyle.NoPen)
            if math.isfinite(strip.low) and math.isfinite(strip.high):
                tint = QColor(color)
                tint.setAlpha(60)
                painter.setBrush(tint)
                ends = QPointF(place(strip.low), middle - _HALF), QPointF(place(strip.high), middle + _HALF)
                painter.drawRoundedRect(QRectF(*ends), 3, 3)
            dot = QColor(color)
            dot.setAlpha(170)
            painter.setBrush(dot)
            for value in strip.values:
                painter.drawEllipse(QPointF(place(value), middle), _DOT, _DOT)
            painter.setPen(QPen(QColor(palette.text), 2))
            at = place(strip.mean)
            painter.drawLine(QPointF(at, middle - _HALF), QPointF(at, middle + _HALF))
        self._paint_scale(painter, len(self.strips) * height, left, right, low, high)
        painter.end()

    def _paint_scale(self, painter: QPainter, top: float, left: float, right: float, low: float, high: float) -> None:
        painter.setFont(font("caption"))
        painter.setPen(QColor(theme().palette.muted))
        room = QRectF(left, top, right - left, painter.fontMetrics().height() + 4)
        painter.drawText(room, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignBottom, self._read(low))
        painter.drawText(room, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignBottom, self._read(high))

    def _find_range(self) -> tuple[float, float]:
        every = [value for each in self.strips for value in (*each.values, each.mean, each.low, each.high)]
        finite = [value for value in every if math.isfinite(value)]
        low, high = min(finite, default=0.0), max(finite, default=1.0)
        if high - low < 1e-9:
            spare = abs(high) * 0.01 or 0.01
            low, high = low - spare, high + spare
        return max(low, self._limits[0]), min(high, self._limits[1])
