"""Points counted into pixels instead of being drawn one by one: tens of thousands take a moment."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage

from studio.theme import Palette

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
_NONE = np.zeros(0)
_OPAQUE = 5
"""Points on one pixel that have the whole color."""
_FAINTEST = 0.35


class PointCloud:
    """The points (``x``, ``y``), both (n,), over the ranges ``across`` and ``up``; NaN is nowhere."""

    def __init__(
        self,
        x: Floats = _NONE,
        y: Floats = _NONE,
        across: tuple[float, float] = (0.0, 1.0),
        up: tuple[float, float] = (0.0, 1.0),
    ) -> None:
        self._at = x, y
        self._ranges = across, up
        self.part: Mask | None = None
        self._image: tuple[object, QImage] | None = None
        self._pixels: tuple[object, NDArray[np.int64]] | None = None  # of each point, for a size

    def set_part(self, mask: Mask | None) -> bool:
        """Which points are among what is chosen, None for all; returns whether that are others than before."""
        before, self.part = self.part, mask
        if before is mask or (before is not None and mask is not None and np.array_equal(before, mask)):
            return False
        self._image = None
        return True

    def find_image(self, room: QRectF, palette: Palette, scale: float) -> QImage:
        """As large as ``room`` on a screen of that ``scale``."""
        width, height = round(room.width() * scale), round(room.height() * scale)
        key = (width, height, palette.name)
        if self._image is None or self._image[0] != key:
            image = self._draw(width, height, palette)
            image.setDevicePixelRatio(scale)
            self._image = key, image
        return self._image[1]

    def _draw(self, width: int, height: int, palette: Palette) -> QImage:
        """(height, width) pixels: those beside the selection in gray, the selected ones above them in color, the fuller the more
        there are."""
        canvas = np.zeros((height * width, 4), np.uint8)
        part = self.part
        groups = [(palette.accent, None)] if part is None else [(palette.faint, ~part), (palette.accent, part)]
        for name, mask in groups:
            counts = self._count(width, height, mask)
            there = np.flatnonzero(counts)
            color = QColor(name)
            share = np.minimum(_FAINTEST + counts[there] / _OPAQUE * (1 - _FAINTEST), 1.0)
            canvas[there, :3] = color.red(), color.green(), color.blue()
            canvas[there, 3] = (share * 255).astype(np.uint8)
        return QImage(canvas.tobytes(), width, height, 4 * width, QImage.Format.Format_RGBA8888).copy()

    def _find_pixels(self, width: int, height: int) -> NDArray[np.int64]:
        """The pixel of each point, row by row; -1 for one that is in none."""
        if self._pixels is None or self._pixels[0] != (width, height):
            (left, right), (bottom, top) = self._ranges
            x, y = self._at
            with np.errstate(invalid="ignore"):
                columns = np.nan_to_num((x - left) / (right - left) * (width - 1), nan=-1.0).round().astype(np.int64)
                rows = np.nan_to_num((top - y) / (top - bottom) * (height - 1), nan=-1.0).round().astype(np.int64)
            inside = (columns > 0) & (columns < width - 1) & (rows > 0) & (rows < height - 1)
            self._pixels = (width, height), np.where(inside, rows * width + columns, -1)
        return self._pixels[1]

    def _count(self, width: int, height: int, mask: Mask | None) -> NDArray[np.int32]:
        """How many points touch each pixel, row by row."""
        pixels = self._find_pixels(width, height)
        chosen = pixels if mask is None else pixels[mask]
        counts = np.bincount(chosen[chosen >= 0], minlength=width * height)
        centers: NDArray[np.int32] = counts.astype(np.int32).reshape(height, width)
        across = centers.copy()
        across[:, 1:] += centers[:, :-1]
        across[:, :-1] += centers[:, 1:]
        dots = across.copy()
        dots[1:] += across[:-1]
        dots[:-1] += across[1:]
        return dots.ravel()
