"""Which class was taken for which: a square of cells, a row for each true class. Painted directly, as Scatter is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from PySide6.QtCore import QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy

from studio.charts.cell_tips import CellTips
from studio.theme import Palette, font, theme

_SIDE = 352  # pixels of the square at most
_LARGEST_CELL = 40.0
_NAMED_CELL = 13.0  # below this size no name fits beside a row
_FIGURED_CELL = 25.0  # below this size no figure fits into a cell
_LONGEST_NAME = 96
_GAP = 6

Figures = Literal["rates", "counts"]


class ConfusionMatrix(CellTips):
    """Cells tell the share of their row, or how many there are: what was right in the accent's color, what was wrong in the one of
    dangers. With room for them there are names and figures; both figures are in the tool tips. Where only a part is in sight, the
    names keep to its edges."""

    def __init__(self) -> None:
        super().__init__()
        self._names: tuple[str, ...] = ()
        self._counts = np.zeros((0, 0))
        self._shares = np.zeros((0, 0))
        self._figures: Figures = "rates"
        self._image: tuple[Palette, QImage] | None = None  # of the cells, and the palette it is drawn in
        self._side = _SIDE
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def set_counts(self, names: Sequence[str], counts: ArrayLike) -> None:
        """Show ``counts``, a row for each true class and a column for each answer."""
        self._names = tuple(names)
        self._counts = np.array(counts, dtype=np.float64).reshape(len(names), len(names))
        there = self._counts.sum(1, keepdims=True)
        self._shares = np.divide(self._counts, there, out=np.zeros_like(self._counts), where=there > 0)
        self._image = None
        right, total = float(np.trace(self._counts)), float(there.sum())
        self.setAccessibleName(f"Confusion matrix of {len(names):,} classes: {right:,.0f} of {total:,.0f} right")
        self.updateGeometry()
        self.update()

    def set_figures(self, figures: Figures) -> None:
        """Tell "rates", in percent of the row, or "counts"."""
        self._figures = figures
        self.update()

    def fit(self, room: int, zoom: float = 1.0) -> None:
        """Take at most ``room`` pixels, names included, or ``zoom`` times as many; few classes take less."""
        before = self._side
        self._side = round(room * zoom)
        self._side = max(self._side - math.ceil(self._margin()) - 1, 1)
        if self._side != before:
            self.updateGeometry()
            self.update()

    def cell_at(self, position: QPointF) -> tuple[int, int] | None:
        """Row and column of the cell there; None outside the square."""
        square, cell = self._square(), self._cell()
        if not square.contains(position) or not cell:
            return None
        last = len(self._names) - 1
        row, column = (position.y() - square.top()) / cell, (position.x() - square.left()) / cell
        return min(int(row), last), min(int(column), last)

    def words_at(self, position: QPointF) -> str:
        """What the cell there tells; "" outside the square."""
        place = self.cell_at(position)
        return self.describe_cell(*place) if place is not None else ""

    def describe_cell(self, row: int, column: int) -> str:
        """What a cell tells, in words."""
        true, answer = self._names[row], self._names[column]
        told = f"“{true}” predicted as “{answer}”" if row != column else f"“{true}” predicted correctly"
        return f"{told}: {self._counts[row, column]:,.0f}, {self._shares[row, column]:.1%} of this class"

    def sizeHint(self) -> QSize:
        square = self._square()
        return QSize(round(square.right()) + 1, round(square.bottom()) + 1)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self._names:
            painter = QPainter(self)
            self._paint_cells(painter, self._square(), QRectF(event.rect()))
            self._paint_names(painter, self._square())

    # ------------------------------------------------------------------------------------------- inside

    def _paint_cells(self, painter: QPainter, square: QRectF, seen: QRectF) -> None:
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, self._cell() < 1)
        palette = theme().palette
        if self._image is None or self._image[0] is not palette:
            self._image = palette, self._draw_image(palette)
        painter.drawImage(square, self._image[1])
        painter.setFont(font("caption"))
        if self._cell() >= _FIGURED_CELL:
            self._paint_figures(painter, square, seen)

    def _cell(self) -> float:
        return min(_LARGEST_CELL, self._side / len(self._names)) if self._names else 0.0

    def _square(self) -> QRectF:
        """Where the cells are, names beside and above them."""
        margin = self._margin()
        side = self._cell() * len(self._names)
        return QRectF(margin, margin, side, side)

    def _find_corner(self) -> QPoint:
        """Of what is in sight: the names keep to its edges."""
        return self.visibleRegion().boundingRect().topLeft()

    def _margin(self) -> float:
        if self._cell() < _NAMED_CELL:
            return 0.0
        metrics = self.fontMetrics()
        return min(max(metrics.horizontalAdvance(name) for name in self._names), _LONGEST_NAME) + _GAP

    def _draw_image(self, palette: Palette) -> QImage:
        """A pixel for each cell."""
        classes = len(self._names)
        ground, right, wrong = (_rgb(name) for name in (palette.sunken, palette.accent, palette.danger))
        ink = np.where(np.eye(classes, dtype=bool)[..., None], right, wrong)
        # The root: one in a hundred is to be seen, too.
        cells = ground + (ink - ground) * np.sqrt(self._shares)[..., None]
        pixels = np.full((classes, classes, 4), 255, dtype=np.uint8)
        pixels[..., :3] = cells.round()
        return QImage(pixels.tobytes(), classes, classes, 4 * classes, QImage.Format.Format_RGBA8888).copy()

    def _paint_figures(self, painter: QPainter, square: QRectF, seen: QRectF) -> None:
        palette, cell = theme().palette, self._cell()
        for row, column in zip(*np.nonzero(self._counts), strict=True):
            place = QRectF(square.left() + column * cell, square.top() + row * cell, cell, cell)
            if not place.intersects(seen):
                continue
            share = float(self._shares[row, column])
            strong = share > 0.5
            painter.setPen(
                QColor((palette.on_accent if row == column else palette.on_danger) if strong else palette.text)
            )
            painter.drawText(place, Qt.AlignmentFlag.AlignCenter, self._format(int(row), int(column)))

    def _format(self, row: int, column: int) -> str:
        share, count = float(self._shares[row, column]), float(self._counts[row, column])
        if self._figures == "counts":
            return f"{count:.0f}" if count < 10_000 else f"{count / 1000:.0f}k"
        return f"{math.floor(share * 100 + 0.5)}" if share >= 0.005 else "<1"

    def _paint_names(self, painter: QPainter, square: QRectF) -> None:
        if self._cell() < _NAMED_CELL:
            return
        cell, room, metrics = self._cell(), int(square.left()) - _GAP, painter.fontMetrics()
        corner = self._find_corner()
        if corner.x() > 0 or corner.y() > 0:
            ground = QColor(theme().palette.surface)
            painter.fillRect(QRectF(corner.x(), corner.y(), square.left(), self.height()), ground)
            painter.fillRect(QRectF(corner.x(), corner.y(), self.width(), square.top()), ground)
        for number, name in enumerate(self._names):
            shown = metrics.elidedText(name, Qt.TextElideMode.ElideRight, room + 1)
            top, left = square.top() + number * cell, square.left() + number * cell
            painter.setPen(QColor(theme().palette.muted))
            if top >= corner.y() + square.top() - 1:
                beside = QRectF(corner.x(), top, room, cell)
                painter.drawText(beside, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, shown)
            if left < corner.x() + square.left() - 1:
                continue
            painter.save()
            painter.translate(left, corner.y() + square.top() - _GAP)
            painter.rotate(-90)
            painter.drawText(
                QRectF(0, 0, room, cell), Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, shown
            )
            painter.restore()


def _rgb(name: str) -> np.ndarray:
    color = QColor(name)
    return np.array([color.red(), color.green(), color.blue()], dtype=np.float64)
