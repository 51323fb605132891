"""Points in the plane, colored by class. Painted directly: a few thousand dots need no plotting library."""

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.charts.class_legend import paint_names
from studio.charts.ground import paint_ground
from studio.theme import font, theme

_PAD = 14.0


class Scatter(QWidget):
    """Keeps the two axes at one scale, because the distance between points is what is looked at."""

    def __init__(self) -> None:
        super().__init__()
        self._groups: dict[str, list[QPointF]] = {}
        self._bounds = QRectF()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_points(self, x: Sequence[float], y: Sequence[float], labels: Sequence[str]) -> None:
        """Show other points; the three have one length."""
        groups: dict[str, list[QPointF]] = {}
        for across, up, name in zip(x, y, labels, strict=True):
            groups.setdefault(name, []).append(QPointF(across, -up))
        self._groups = {name: groups[name] for name in sorted(groups)}
        self._bounds = QRectF(min(x), -max(y), max(x) - min(x), max(y) - min(y)) if len(x) else QRectF()
        self.setAccessibleName(f"{len(x):,} points of {len(groups)} classes")
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(320, 340)

    def paintEvent(self, event: QPaintEvent) -> None:
        palette = theme().palette
        painter = QPainter(self)
        paint_ground(painter, self)
        legend = self._paint_legend(painter)
        if not self._groups:
            return
        room = QRectF(self.rect()).adjusted(_PAD, _PAD, -_PAD, -legend)
        span = max(self._bounds.width() / room.width(), self._bounds.height() / room.height()) or 1.0
        middle, center = self._bounds.center(), room.center()
        for number, points in enumerate(self._groups.values()):
            color = QColor(palette.curve(number))
            color.setAlphaF(0.75)
            painter.setPen(QPen(color, 3.6, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
            painter.drawPoints([center + (point - middle) / span for point in points])

    def _paint_legend(self, painter: QPainter) -> float:
        """Names with their colors along the bottom; returns the height they take."""
        painter.setFont(font("caption"))
        height = painter.fontMetrics().height()
        paint_names(painter, list(self._groups), _PAD, self.width() - _PAD, self.height() - _PAD - height / 2)
        return _PAD * 2 + height
