"""How often the values of one number fall into each of some intervals. Painted directly, as Scatter is."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QHelpEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from studio.charts.ground import paint_ground
from studio.theme import Palette, font, theme
from studio.widgets import format_number

_PAD = 12.0


class Histogram(QWidget):
    """Bars from the smallest value to the largest; what the ends are stands below them."""

    def __init__(self) -> None:
        super().__init__()
        self._name = ""
        self._edges: tuple[float, ...] = ()  # where they are to be told
        self._counts: tuple[int, ...] = ()
        self._ends = ("", "")
        self._mark: int | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_counts(self, name: str, low: float, high: float, counts: Sequence[int]) -> None:
        """Show how many values of ``name`` lie in each of the equal intervals between ``low`` and ``high``."""
        self._edges, self._mark = (), None
        self._show(name, low, high, counts)

    def set_bins(self, values: str, edges: Sequence[float], counts: Sequence[int], mark: int | None) -> None:
        """Show how many of ``values``, which is said by no more than the tool tip, lie in each of the intervals between ``edges``,
        all drawn of one width. The edge number ``mark`` is a limit: it is a line, and bars beyond it have its color.
        Without edges there is nothing to show."""
        self._edges, self._mark = tuple(edges), mark
        self._show(values, edges[0] if edges else None, edges[-1] if edges else None, counts)

    def _show(self, name: str, low: float | None, high: float | None, counts: Sequence[int]) -> None:
        self._name = name
        self._counts = tuple(counts)
        self._ends = (self._format(low), self._format(high))
        beyond = (
            f", {sum(counts[self._mark :]):,} beyond {self._format(self._edges[self._mark])}"
            if self._mark is not None
            else ""
        )
        self.setAccessibleName(f"{name}: {sum(counts):,} values from {self._ends[0]} to {self._ends[1]}{beyond}")
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(320, 132)

    def event(self, event: QEvent) -> bool:
        """Tell what the bar under the mouse holds."""
        if isinstance(event, QHelpEvent) and event.type() is QEvent.Type.ToolTip and self._edges:
            QToolTip.showText(event.globalPos(), self.words_at(event.pos()), self)
            return True
        return super().event(event)

    def words_at(self, point: QPoint) -> str:
        """What the bar at ``point`` holds; "" beside the bars, and where the edges are not told."""
        room = self._room()
        number = int((point.x() - room.left()) // (room.width() / max(len(self._counts), 1)))
        if not self._edges or not 0 <= number < len(self._counts):
            return ""
        low, high = (self._format(edge) for edge in self._edges[number : number + 2])
        return f"{low} to {high}: {self._counts[number]:,} of {sum(self._counts):,}\n{self._name}"

    def _room(self) -> QRectF:
        """Where the bars are drawn."""
        line = QFontMetrics(font("caption")).height()
        above = 0 if self._edges else line + 2
        return QRectF(self.rect()).adjusted(_PAD, _PAD + above, -_PAD, -_PAD - line)

    def paintEvent(self, event: QPaintEvent) -> None:
        palette = theme().palette
        painter = QPainter(self)
        paint_ground(painter, self)
        painter.setFont(font("caption"))
        room = self._room()
        self._paint_words(painter, room, palette)
        self._paint_bars(painter, room, palette)
        if self._mark is not None:
            x = room.left() + self._mark * room.width() / max(1, len(self._counts)) - 0.5
            painter.setPen(QPen(QColor(palette.warning), 1, Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(x, room.top()), QPointF(x, room.bottom()))

    def _paint_bars(self, painter: QPainter, room: QRectF, palette: Palette) -> None:
        for number, count in enumerate(self._counts):
            is_beyond = self._mark is not None and number >= self._mark
            self._paint_bar(painter, room, number, count, palette.warning if is_beyond else palette.accent)

    def _paint_bar(self, painter: QPainter, room: QRectF, number: int, count: int, color: str) -> None:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(color))
        largest, width = max(self._counts, default=0) or 1, room.width() / max(1, len(self._counts))
        height = max(room.height() * count / largest, 1.0 if count else 0.0)
        left = room.left() + number * width
        painter.drawRect(QRectF(left, room.bottom() - height, max(width - 1.0, 1.0), height))

    def _paint_words(self, painter: QPainter, room: QRectF, palette: Palette) -> None:
        metrics = painter.fontMetrics()
        painter.setPen(QColor(palette.muted))
        if not self._edges:
            name = metrics.elidedText(self._name, Qt.TextElideMode.ElideMiddle, int(room.width()))
            painter.drawText(QPointF(room.left(), _PAD + metrics.ascent()), name)
        base = self.height() - _PAD + metrics.ascent() - metrics.height() + 2
        first, last = (metrics.horizontalAdvance(end) for end in self._ends)
        painter.drawText(QPointF(room.left(), base), self._ends[0])
        painter.drawText(QPointF(room.right() - last, base), self._ends[1])
        if self._mark is None:
            return
        limit = f"limit {self._format(self._edges[self._mark])}"
        wide, at = metrics.horizontalAdvance(limit), room.left() + self._mark * room.width() / len(self._counts)
        left = min(max(at - wide / 2, room.left() + first + _PAD), room.right() - last - _PAD - wide)
        if left >= room.left() + first + _PAD:  # there is room between the ends
            painter.setPen(QColor(palette.warning))
            painter.drawText(QPointF(left, base), limit)

    def _format(self, value: float | None) -> str:
        """Edges that were laid by a factor have no meaning beyond three digits."""
        digits = 3 if self._edges else 6
        return "" if value is None else format_number(float(f"{value:.{digits}g}"))
