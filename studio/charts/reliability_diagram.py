"""Whether what was held to be likely came true: a bar for each bin of confidence, and how many samples each has."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QHelpEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from studio.charts.ground import paint_focus, paint_ground
from studio.charts.unit_square import UnitSquare
from studio.theme import Palette, font, theme
from training.statistics.calibration import Bin

_PAD = 8.0
_COUNTS = 44.0
"""Pixels of the bars of counts below."""
_NARROWEST = 4.0


class ReliabilityDiagram(QWidget):
    """A click, or the arrows and Enter, choose a bin; Escape lets go of it. Signals: `chosen(int | None)`."""

    chosen = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._bins: Sequence[Bin] = ()
        self._confidence = ""
        self._marked: int | None = None
        self._at: int | None = None  # with the keyboard
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMinimumWidth(1)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def show_bins(self, confidence: str, bins: Sequence[Bin], marked: int | None) -> None:
        """Draw others; ``confidence`` says what is across, ``marked`` is the number of the chosen one."""
        self._confidence, self._bins, self._marked = confidence, bins, marked
        if self._at is not None and self._at >= len(bins):
            self._at = None
        filled = sum(each.samples > 0 for each in bins)
        self.setAccessibleName(
            f"Reliability diagram of {filled} bins of {sum(each.samples for each in bins):,} samples"
        )
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(480, 340)

    def square(self) -> UnitSquare:
        """Where the bars of accuracy are."""
        whole = QRectF(0, _PAD, self.width(), self.height() - 2 * _PAD)
        return UnitSquare.within(whole, float(self.fontMetrics().height()), _COUNTS)

    def bin_at(self, place: QPointF) -> int | None:
        """The filled bin that is nearest across; None where there is none."""
        filled = [number for number, each in enumerate(self._bins) if each.samples]
        square = self.square()

        def distance(number: int) -> float:
            left, right = self._span(square, self._bins[number])
            return max(left - place.x(), place.x() - right, 0.0)

        return min(filled, key=distance) if filled else None

    def words_at(self, place: QPointF) -> str:
        """What a bin holds."""
        number = self.bin_at(place)
        return "" if number is None else describe_bin(self._bins[number])

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip:
            QToolTip.showText(event.globalPos(), self.words_at(QPointF(event.pos())), self)
            return True
        return super().event(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        number = self.bin_at(event.position())
        if event.button() == Qt.MouseButton.LeftButton and number is not None:
            self.chosen.emit(number)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, filled = Qt.Key(event.key()), [number for number, each in enumerate(self._bins) if each.samples]
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Right) and filled:
            by = 1 if key == Qt.Key.Key_Right else -1
            place = filled.index(self._at) + by if self._at in filled else 0
            self._at = filled[min(max(place, 0), len(filled) - 1)]
            self.setAccessibleDescription(describe_bin(self._bins[self._at]))
            self.update()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space) and self._at in filled:
            self.chosen.emit(self._at)
        elif key == Qt.Key.Key_Escape and self._marked is not None:
            self.chosen.emit(None)
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, palette, square = QPainter(self), theme().palette, self.square()
        paint_ground(painter, self)
        square.paint_frame(painter, palette, "", self._confidence, "Share that came true")
        for number, each in enumerate(self._bins):
            if each.samples:
                self._paint_bin(painter, palette, square, number)
        painter.setPen(QPen(QColor(palette.text), 1, Qt.PenStyle.DashLine))
        painter.drawLine(square.place(0, 0), square.place(1, 1))
        self._paint_counts(painter, palette, square)
        paint_focus(painter, self)

    def _paint_bin(self, painter: QPainter, palette: Palette, square: UnitSquare, number: int) -> None:
        each = self._bins[number]
        left, right = self._span(square, each)
        top, bottom = square.place(0, each.accuracy.value).y(), square.room.bottom()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.fillRect(QRectF(left, top, right - left, max(bottom - top, 1.0)), QColor(palette.accent))
        middle = (left + right) / 2
        painter.setPen(QPen(QColor(palette.warning), 1.5))
        low, high = (square.place(0, limit).y() for limit in (each.accuracy.low, each.accuracy.high))
        painter.drawLine(QPointF(middle, low), QPointF(middle, high))
        if number in (self._marked, self._at if self.hasFocus() else None):
            painter.setPen(QPen(QColor(palette.text), 2 if number == self._marked else 1))
            painter.drawRect(QRectF(left, square.room.top(), right - left, square.room.height()))

    def _paint_counts(self, painter: QPainter, palette: Palette, square: UnitSquare) -> None:
        """Below the names of the axis."""
        painter.setFont(font("caption"))
        line, most = painter.fontMetrics().height(), max((each.samples for each in self._bins), default=0)
        top = square.room.bottom() + 2.4 * line
        room = QRectF(square.room.left(), top, square.room.width(), max(self.height() - _PAD - top, 1.0))
        for each in self._bins:
            if each.samples:
                left, right = self._span(square, each)
                height = max(each.samples / most * room.height(), 1.0)
                painter.fillRect(QRectF(left, room.bottom() - height, right - left, height), QColor(palette.faint))
        painter.setPen(QColor(palette.muted))
        beside = QRectF(room.left() - 90, room.top(), 84, room.height())
        painter.drawText(beside, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, f"at most\n{most:,}")

    def _span(self, square: UnitSquare, each: Bin) -> tuple[float, float]:
        """From where to where a bin goes across, wide enough to be seen."""
        left, right = square.place(each.low, 0).x(), square.place(each.high, 0).x()
        spare = max(_NARROWEST - (right - left), 0.0) / 2
        return left - spare + 0.5, right + spare - 0.5


def describe_bin(each: Bin) -> str:
    """What a bin holds, in two lines."""
    if not each.samples or math.isnan(each.accuracy.value):
        return ""
    rate, low, high = (f"{value:.1%}" for value in each.accuracy)
    return (
        f"Confidence {each.low:.3g} to {each.high:.3g}, {each.confidence:.1%} on average: {each.samples:,} samples\n"
        f"{rate} came true ({low} to {high})"
    )
