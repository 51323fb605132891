"""Rows of numbers over steps as colors, on a logarithmic scale, or of shares. Painted directly, as Scatter is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyqtgraph as pg
from numpy.typing import NDArray
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy

from studio.charts.cell_tips import CellTips
from studio.theme import font, theme
from studio.widgets import format_number
from training.errors import pluralize

_LOWEST_ROW, _HIGHEST_ROW, _HIGHEST = 6.0, 22.0, 360.0  # pixels
_LONGEST_NAME = 200
_GAP = 6
_BAR = 10  # width of the color bar
_DECADES = 8  # below the largest: what is smaller has the lowest color


@dataclass(frozen=True)
class Heat:
    """What is drawn: ``values`` (bins, rows) between the steps ``first`` and ``last`` of each bin; NaN where there is no number,
    0 where there is nothing, inf where it was not finite. ``noun`` says what the numbers are. ``are_shares``: they go from 0 to 1, on a
    linear scale. ``usual``: between which values they lie in runs that are well, marked beside the color bar."""

    noun: str
    names: tuple[str, ...]
    first: Sequence[int] | NDArray[np.int64]
    last: Sequence[int] | NDArray[np.int64]
    values: NDArray[np.float32]
    are_shares: bool = False
    usual: tuple[float, float] | None = None


class HeatMap(CellTips):
    """A row for each name, a column for each bin; beside it the color bar. What a cell tells is in its tool tip."""

    def __init__(self) -> None:
        super().__init__()
        self._heat: Heat | None = None
        self._image = QImage()
        self._low = self._high = 0.0  # of the scale, in decades; of shares as they are
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme().changed.connect(lambda _: self._paint_cells())

    def show_heat(self, heat: Heat | None) -> None:
        """Draw other numbers, or none."""
        rows = len(self._heat.names) if self._heat else 0
        self._heat = heat
        self._paint_cells()
        if heat is not None:
            said = f"steps {heat.first[0]:,} to {heat.last[-1]:,}" if len(heat.first) else "no steps yet"
            self.setAccessibleName(f"Heat map: {heat.noun} of {pluralize(len(heat.names), 'layer')}, {said}")
        if rows != (len(heat.names) if heat else 0):
            self.updateGeometry()
        self.update()

    def words_at(self, position: QPointF) -> str:
        """What the cell there tells; "" outside."""
        heat, room = self._heat, self._room()
        if heat is None or not len(heat.first) or not room.contains(position):
            return ""
        column = min(int((position.x() - room.left()) / room.width() * len(heat.first)), len(heat.first) - 1)
        row = min(int((position.y() - room.top()) / room.height() * len(heat.names)), len(heat.names) - 1)
        first, last, value = int(heat.first[column]), int(heat.last[column]), float(heat.values[column, row])
        when = f"step {first:,}" if first == last else f"steps {first:,} to {last:,}, the largest"
        return f"{heat.names[row]} · {when}: {heat.noun} {_describe(value, heat.are_shares)}"

    def sizeHint(self) -> QSize:
        return QSize(480, round(self._row() * (len(self._heat.names) if self._heat else 1)) + self._line() + _GAP)

    def minimumSizeHint(self) -> QSize:
        return QSize(240, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._heat is None or self._image.isNull():
            return
        painter, room = QPainter(self), self._room()
        painter.drawImage(room, self._image)
        painter.setFont(font("caption"))
        painter.setPen(QColor(theme().palette.muted))
        self._paint_names(painter, room, self._heat.names)
        self._paint_steps(painter, room, self._heat)
        self._paint_bar(painter, room, self._heat)

    # ------------------------------------------------------------------------------------------- inside

    def _row(self) -> float:
        rows = len(self._heat.names) if self._heat else 1
        return min(max(_HIGHEST / rows, _LOWEST_ROW), _HIGHEST_ROW)

    def _line(self) -> int:
        return self.fontMetrics().height()

    def _room(self) -> QRectF:
        """Where the cells are."""
        names = self._heat.names if self._heat else ()
        widest = max((self.fontMetrics().horizontalAdvance(name) for name in names), default=0)
        left = min(widest, _LONGEST_NAME, self.width() // 3) + _GAP
        right = self.fontMetrics().horizontalAdvance("8.8e-88") + _BAR + 3 * _GAP
        return QRectF(left, 0, max(self.width() - left - right, 1), self._row() * max(len(names), 1))

    def _paint_cells(self) -> None:
        """A pixel for each cell."""
        heat, palette = self._heat, theme().palette
        if heat is None or not len(heat.first):
            self._image = QImage()
            return
        values = heat.values.T.astype(np.float64)
        if heat.are_shares:
            self._low, self._high = 0.0, 1.0
        else:
            counted = values[np.isfinite(values) & (values > 0)]
            self._high = math.log10(counted.max()) if len(counted) else 0.0
            self._low = max(math.log10(counted.min()), self._high - _DECADES) if len(counted) else -1.0
        pixels = np.full((*values.shape, 4), 255, np.uint8)
        pixels[..., :3] = _colors()[np.nan_to_num(self._place(values) * 255).astype(int)]
        pixels[((values == 0) & (not heat.are_shares)) | np.isnan(values), :3] = _rgb(palette.sunken)
        pixels[np.isinf(values), :3] = _rgb(palette.danger)
        rows, columns = values.shape
        self._image = QImage(pixels.tobytes(), columns, rows, 4 * columns, QImage.Format.Format_RGBA8888).copy()

    def _place(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Where ``values`` lie on the scale, from 0 to 1."""
        with np.errstate(divide="ignore", invalid="ignore"):
            scaled = values if self._heat is not None and self._heat.are_shares else np.log10(values)
        placed: NDArray[np.float64] = np.clip((scaled - self._low) / max(self._high - self._low, 1e-6), 0.0, 1.0)
        return placed

    def _paint_names(self, painter: QPainter, room: QRectF, names: Sequence[str]) -> None:
        each = math.ceil(self._line() / self._row() - 0.1)  # where rows are narrow, not every one has room for its name
        height, width = self._row() * each, int(room.left()) - _GAP
        for number in range(0, len(names), each):
            place = QRectF(0, room.top() + number * self._row(), width, max(height, self._line()))
            text = painter.fontMetrics().elidedText(names[number], Qt.TextElideMode.ElideLeft, width + 1)
            upper = Qt.AlignmentFlag.AlignTop if each > 1 else Qt.AlignmentFlag.AlignVCenter
            painter.drawText(place, Qt.AlignmentFlag.AlignRight | upper, text)

    def _paint_steps(self, painter: QPainter, room: QRectF, heat: Heat) -> None:
        below = QRectF(room.left(), room.bottom() + 2, room.width(), self._line())
        painter.drawText(below, Qt.AlignmentFlag.AlignLeft, f"step {heat.first[0]:,}")
        if len(heat.first) > 1:
            painter.drawText(below, Qt.AlignmentFlag.AlignRight, f"{heat.last[-1]:,}")

    def _paint_bar(self, painter: QPainter, room: QRectF, heat: Heat) -> None:
        bar = QRectF(room.right() + 2 * _GAP, room.top(), _BAR, room.height())
        colors = _colors()[::-1]
        pixels = np.full((len(colors), 1, 4), 255, np.uint8)
        pixels[:, 0, :3] = colors
        image = QImage(pixels.tobytes(), 1, len(colors), 4, QImage.Format.Format_RGBA8888)
        painter.drawImage(bar, image)
        if heat.usual is not None:
            low, high = self._place(np.array(heat.usual))
            if high > low:
                mark = QRectF(bar.left() - 4, bar.bottom() - high * bar.height(), 2, (high - low) * bar.height())
                painter.fillRect(mark, QColor(theme().palette.success))
        ends = [(0.0, self._high, Qt.AlignmentFlag.AlignTop), (1.0, self._low, Qt.AlignmentFlag.AlignBottom)]
        if room.height() >= 4 * self._line():
            ends.append((0.5, (self._high + self._low) / 2, Qt.AlignmentFlag.AlignVCenter))
        for _, decade, where in ends:
            beside = QRectF(bar.right() + _GAP, bar.top(), self.width() - bar.right() - _GAP, bar.height())
            words = f"{decade:.0%}" if heat.are_shares else _round(10.0**decade)
            painter.drawText(beside, Qt.AlignmentFlag.AlignLeft | where, words)


def _rgb(name: str) -> tuple[int, int, int]:
    color = QColor(name)
    return color.red(), color.green(), color.blue()


def _round(value: float) -> str:
    return format_number(float(f"{value:.2g}"))


def _describe(value: float, is_share: bool) -> str:
    if math.isnan(value):
        return "is no number"
    if is_share:
        return f"{value:.1%}"
    return format_number(float(f"{value:.4g}")) if math.isfinite(value) else "was not finite"


def _colors() -> NDArray[np.uint8]:
    """From the lowest to the highest: viridis, which is as even to people who see fewer colors."""
    table: NDArray[np.uint8] = pg.colormap.get("viridis").getLookupTable(nPts=256, mode="byte")
    return table[:, :3]
