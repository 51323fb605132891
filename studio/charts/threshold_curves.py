"""Precision-recall and ROC curves of one class, with the point of a threshold on both, which can be dragged."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QMouseEvent, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.charts.ground import paint_ground
from studio.charts.unit_square import UnitSquare
from studio.theme import Palette, font, theme
from training.statistics.curves import Curve

_PAD = 8.0
_DOT = 5.0
_HIGHEST = 340


class _Chart(NamedTuple):
    """One of the two. ``chance``: the line of an answer by chance."""

    title: str
    across: str
    up: str
    curve: Curve
    chance: tuple[tuple[float, float], tuple[float, float]]


class ThresholdCurves(QWidget):
    """A click or a drag takes the nearest point of a curve. Signals: `threshold_chosen(float)`."""

    threshold_chosen = Signal(float)

    def __init__(self) -> None:
        super().__init__()
        self._charts: tuple[_Chart, ...] = ()
        self._points: tuple[tuple[float, float], ...] = ()
        self._dragged: int | None = None
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setMinimumWidth(1)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def show_curves(self, precision_recall: Curve, roc: Curve, share: float) -> None:
        """Draw others; ``share`` is that of the positives, the precision of chance."""
        self._charts = (
            _Chart("Precision-recall", "Recall", "Precision", precision_recall, ((0.0, share), (1.0, share))),
            _Chart("ROC", "False positive rate", "True positive rate", roc, ((0.0, 0.0), (1.0, 1.0))),
        )
        self.update()

    def show_point(self, words: str, precision_recall: tuple[float, float], roc: tuple[float, float]) -> None:
        """Mark a threshold; NaN where it is not on the curve. ``words`` tell of it."""
        self._points = precision_recall, roc
        self.setAccessibleName(f"Precision-recall and ROC curves. {words}")
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(480, self.heightForWidth(480))

    def heightForWidth(self, width: int) -> int:
        return min(width // 2 + self.fontMetrics().height() + round(2 * _PAD), _HIGHEST)

    def squares(self) -> tuple[UnitSquare, UnitSquare]:
        """Where the two charts are."""
        half, line = self.width() / 2, float(self.fontMetrics().height())
        whole = QRectF(0, _PAD, half, self.height() - 2 * _PAD)
        return UnitSquare.within(whole, line), UnitSquare.within(whole.translated(half, 0), line)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self._charts:
            self._dragged = int(event.position().x() >= self.width() / 2)
            self._take(self._dragged, event.position())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._dragged is not None:
            self._take(self._dragged, event.position())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._dragged = None

    def _take(self, number: int, place: QPointF) -> None:
        curve, square = self._charts[number].curve, self.squares()[number]
        if len(curve.x):
            zero, one = square.place(0, 0), square.place(1, 1)
            x = zero.x() + curve.x * (one.x() - zero.x())
            y = zero.y() + curve.y * (one.y() - zero.y())
            self.threshold_chosen.emit(float(curve.thresholds[np.hypot(x - place.x(), y - place.y()).argmin()]))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, palette = QPainter(self), theme().palette
        paint_ground(painter, self)
        painter.setFont(font("caption"))
        for square, chart in zip(self.squares(), self._charts, strict=False):
            self._paint_chart(painter, palette, square, chart)
        for square, point in zip(self.squares(), self._points, strict=False):
            if not np.isnan(point).any():
                painter.setPen(QPen(QColor(palette.surface), 2))
                painter.setBrush(QColor(palette.warning))
                painter.drawEllipse(square.place(*point), _DOT, _DOT)

    def _paint_chart(self, painter: QPainter, palette: Palette, square: UnitSquare, chart: _Chart) -> None:
        square.paint_frame(painter, palette, chart.title, chart.across, chart.up)
        if not len(chart.curve.x):
            painter.drawText(square.room, Qt.AlignmentFlag.AlignCenter, "One side has no samples")
            return
        painter.setPen(QPen(QColor(palette.faint), 1, Qt.PenStyle.DashLine))
        painter.drawLine(square.place(*chart.chance[0]), square.place(*chart.chance[1]))
        painter.setPen(QPen(QColor(palette.accent), 2))
        painter.drawPolyline(QPolygonF([square.place(x, y) for x, y in zip(chart.curve.x, chart.curve.y, strict=True)]))
