"""A curve the size of a word, for table cells. Painted by QPainter alone: no pyqtgraph, thousands of rows are fine."""

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QWidget

from studio.theme import theme


def paint_sparkline(painter: QPainter, room: QRectF, values: Sequence[float], color: str) -> None:
    """Draw `values` from left to right into `room`, scaled to fill it; gaps (NaN) are left out, the last one is a dot."""
    points = _points(values, room.adjusted(2, 3, -4, -3))
    if not points:
        return
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(QColor(color), 1.25, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin))
    painter.drawPolyline(QPolygonF(points))
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(color))
    painter.drawEllipse(points[-1], 2.0, 2.0)
    painter.restore()


class SparklineDelegate(QStyledItemDelegate):
    """Paints the sequence of floats that the model returns for `values_role`."""

    def __init__(self, values_role: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._values_role = values_role

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(96, 28)

    def paint(
        self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> None:
        super().paint(painter, option, index)  # the cell's ground: selection, hover
        values = index.data(self._values_role)
        if values is not None and len(values):
            room = QRectF(option.rect).adjusted(8, 4, -8, -5)
            paint_sparkline(painter, room, values, theme().palette.curve(0))


def _points(values: Sequence[float], room: QRectF) -> list[QPointF]:
    ys = np.asarray(values, dtype=np.float64)
    xs = np.flatnonzero(np.isfinite(ys))
    ys = ys[xs]
    if len(ys) == 0:
        return []
    low, high = ys.min(), ys.max()
    span = high - low
    across = (xs - xs[0]) / max(xs[-1] - xs[0], 1.0)
    up = (ys - low) / span if span > 0 else np.full_like(ys, 0.5)
    return [
        QPointF(room.left() + room.width() * float(a), room.bottom() - room.height() * float(u))
        for a, u in zip(across, up, strict=True)
    ]
