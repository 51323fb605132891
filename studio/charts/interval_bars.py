"""Names with bars from zero, each with its interval: what matters, and how sure that is. Painted directly, as Histogram is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy

from studio.charts.cell_tips import CellTips
from studio.theme import font, theme

_GAP = 10
_BAR = 8.0
_CAP = 3.0  # half the height of an interval's ends


@dataclass(frozen=True, slots=True)
class IntervalBar:
    """A row; ``text`` stands at its right. A ``pale`` one is not told from zero."""

    label: str
    value: float
    low: float
    high: float
    text: str
    pale: bool = False


class IntervalBars(CellTips):
    """As high as its rows; one scale for all, from the lowest limit or 0 to the highest.

    Signals: `clicked(str)` the label of the row.
    """

    clicked = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.bars: tuple[IntervalBar, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme().changed.connect(self.update)

    def set_bars(self, name: str, bars: Sequence[IntervalBar]) -> None:
        """Show other rows; ``name`` says what they are."""
        self.bars = tuple(bars)
        rows = "; ".join(f"{bar.label} {bar.text}" for bar in self.bars)
        self.setAccessibleName(f"{name}: {rows}" if rows else name)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(320, max(1, len(self.bars)) * self._row_height())

    def minimumSizeHint(self) -> QSize:
        return QSize(220, self.sizeHint().height())

    def words_at(self, position: QPointF) -> str:
        number = int(position.y() // self._row_height())
        return f"{self.bars[number].label}: {self.bars[number].text}" if 0 <= number < len(self.bars) else ""

    def mousePressEvent(self, event: QMouseEvent) -> None:
        number = int(event.position().y() // self._row_height())
        if event.button() == Qt.MouseButton.LeftButton and 0 <= number < len(self.bars):
            self.clicked.emit(self.bars[number].label)

    def _row_height(self) -> int:
        return QFontMetrics(font("body")).height() + 9

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self.bars:
            return
        palette, height = theme().palette, self._row_height()
        body, small = font("body"), font("caption")
        names, figures = QFontMetrics(body), QFontMetrics(small)
        label_width = min(max(names.horizontalAdvance(bar.label) for bar in self.bars) + 1, self.width() * 3 // 10)
        text_width = max(figures.horizontalAdvance(bar.text) for bar in self.bars) + 1
        left, right = label_width + _GAP, self.width() - text_width - _GAP
        low = min(0.0, *(bar.low for bar in self.bars))
        high = max(0.0, *(bar.high for bar in self.bars))
        scale = max(right - left, 1) / ((high - low) or 1.0)
        zero = left - low * scale
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for number, bar in enumerate(self.bars):
            row = QRectF(0, number * height, self.width(), height)
            middle = row.center().y()
            painter.setFont(body)
            painter.setPen(QColor(palette.muted if bar.pale else palette.text))
            label = names.elidedText(bar.label, Qt.TextElideMode.ElideRight, label_width)
            painter.drawText(row, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, label)
            painter.setFont(small)
            painter.setPen(QColor(palette.muted))
            painter.drawText(row, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, bar.text)
            filled = QRectF(QPointF(zero, middle - _BAR / 2), QPointF(zero + bar.value * scale, middle + _BAR / 2))
            painter.fillRect(filled.normalized(), QColor(palette.faint if bar.pale else palette.accent))
            ends = (zero + bar.low * scale, zero + bar.high * scale)
            painter.setPen(QPen(QColor(palette.muted if bar.pale else palette.text), 1.5))
            painter.drawLine(QPointF(ends[0], middle), QPointF(ends[1], middle))
            for end in ends:
                painter.drawLine(QPointF(end, middle - _CAP), QPointF(end, middle + _CAP))
        painter.setPen(QPen(QColor(palette.muted), 1))
        painter.drawLine(QPointF(zero, 0), QPointF(zero, len(self.bars) * height))
        painter.end()
