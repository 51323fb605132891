"""Which class was taken for which: a square of cells, a row for each true class. Painted directly, as Scatter is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy

from studio.charts.cell_tips import CellTips
from studio.theme import font, theme

_SIDE = 352.0  # pixels of the square at most
_LARGEST_CELL = 40.0
_NAMED_CELL = 13.0  # below this size no name fits beside a row
_FIGURED_CELL = 25.0  # below this size no figure fits into a cell
_LONGEST_NAME = 96
_GAP = 6


class ConfusionMatrix(CellTips):
    """Cells tell the share of their row: what was right in the accent's color, what was wrong in the one of dangers. With
    room for them there are names and percentages; the counts are in the tool tips."""

    def __init__(self) -> None:
        super().__init__()
        self._names: tuple[str, ...] = ()
        self._counts = np.zeros((0, 0))
        self._shares = np.zeros((0, 0))
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def set_counts(self, names: Sequence[str], counts: Sequence[Sequence[int]]) -> None:
        """Show ``counts``, a row for each true class and a column for each answer."""
        self._names = tuple(names)
        self._counts = np.array(counts, dtype=np.float64).reshape(len(names), len(names))
        there = self._counts.sum(1, keepdims=True)
        self._shares = np.divide(self._counts, there, out=np.zeros_like(self._counts), where=there > 0)
        right, total = float(np.trace(self._counts)), float(there.sum())
        self.setAccessibleName(f"Confusion matrix of {len(names):,} classes: {right:,.0f} of {total:,.0f} right")
        self.updateGeometry()
        self.update()

    def words_at(self, position: QPointF) -> str:
        """What the cell there tells; "" outside the square."""
        square, cell = self._square(), self._cell()
        if not square.contains(position) or not cell:
            return ""
        row = min(int((position.y() - square.top()) / cell), len(self._names) - 1)
        column = min(int((position.x() - square.left()) / cell), len(self._names) - 1)
        true, answer = self._names[row], self._names[column]
        told = f"“{true}” predicted as “{answer}”" if row != column else f"“{true}” predicted correctly"
        return f"{told}: {self._counts[row, column]:,.0f}, {self._shares[row, column]:.1%} of this class"

    def sizeHint(self) -> QSize:
        square = self._square()
        return QSize(round(square.right()) + 1, round(square.bottom()) + 1)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._names:
            return
        painter = QPainter(self)
        square = self._square()
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, self._cell() < 1)
        painter.drawImage(square, self._image())
        painter.setFont(font("caption"))
        if self._cell() >= _FIGURED_CELL:
            self._paint_figures(painter, square)
        if self._cell() >= _NAMED_CELL:
            self._paint_names(painter, square)

    # ------------------------------------------------------------------------------------------- inside

    def _cell(self) -> float:
        return min(_LARGEST_CELL, _SIDE / len(self._names)) if self._names else 0.0

    def _square(self) -> QRectF:
        """Where the cells are, names beside and above them."""
        margin = self._margin()
        side = self._cell() * len(self._names)
        return QRectF(margin, margin, side, side)

    def _margin(self) -> float:
        if self._cell() < _NAMED_CELL:
            return 0.0
        metrics = self.fontMetrics()
        return min(max(metrics.horizontalAdvance(name) for name in self._names), _LONGEST_NAME) + _GAP

    def _image(self) -> QImage:
        """A pixel for each cell."""
        palette, classes = theme().palette, len(self._names)
        ground, right, wrong = (_rgb(name) for name in (palette.sunken, palette.accent, palette.danger))
        ink = np.where(np.eye(classes, dtype=bool)[..., None], right, wrong)
        # The root: one in a hundred is to be seen, too.
        cells = ground + (ink - ground) * np.sqrt(self._shares)[..., None]
        pixels = np.full((classes, classes, 4), 255, dtype=np.uint8)
        pixels[..., :3] = cells.round()
        return QImage(pixels.tobytes(), classes, classes, 4 * classes, QImage.Format.Format_RGBA8888).copy()

    def _paint_figures(self, painter: QPainter, square: QRectF) -> None:
        palette, cell = theme().palette, self._cell()
        for row, column in zip(*np.nonzero(self._counts), strict=True):
            share = float(self._shares[row, column])
            strong = share > 0.3
            painter.setPen(
                QColor((palette.on_accent if row == column else palette.on_danger) if strong else palette.text)
            )
            place = QRectF(square.left() + column * cell, square.top() + row * cell, cell, cell)
            painter.drawText(place, Qt.AlignmentFlag.AlignCenter, f"{share * 100:.0f}" if share > 0.005 else "<1")

    def _paint_names(self, painter: QPainter, square: QRectF) -> None:
        cell, room, metrics = self._cell(), int(square.left()) - _GAP, painter.fontMetrics()
        painter.setPen(QColor(theme().palette.muted))
        for number, name in enumerate(self._names):
            shown = metrics.elidedText(name, Qt.TextElideMode.ElideRight, room + 1)
            beside = QRectF(0, square.top() + number * cell, room, cell)
            painter.drawText(beside, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, shown)
            painter.save()
            painter.translate(square.left() + number * cell, square.top() - _GAP)
            painter.rotate(-90)
            painter.drawText(
                QRectF(0, 0, room, cell), Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, shown
            )
            painter.restore()


def _rgb(name: str) -> np.ndarray:
    color = QColor(name)
    return np.array([color.red(), color.green(), color.blue()], dtype=np.float64)
