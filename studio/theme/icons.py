"""Line icons from one-color SVG files, tinted by the theme at the moment they are painted."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from PySide6.QtCore import QByteArray, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QIconEngine, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from studio.theme.svg import svg_source, tint_svg
from studio.theme.theme import theme

if TYPE_CHECKING:
    from PySide6.QtGui import QImage

IconRole = Literal["text", "muted", "accent", "on_accent", "success", "warning", "danger"]


@lru_cache(maxsize=512)
def _render(name: str, color: str, width: int, height: int) -> QPixmap:
    drawn = QPixmap(width, height)
    drawn.fill(Qt.GlobalColor.transparent)
    side = min(width, height)
    painter = QPainter(drawn)
    renderer = QSvgRenderer(QByteArray(tint_svg(name, color).encode()))
    renderer.render(painter, QRectF((width - side) / 2, (height - side) / 2, side, side))
    painter.end()
    return drawn


def pixmap(name: str, size: int, role: IconRole = "text", device_pixel_ratio: float = 1.0) -> QPixmap:
    """The icon as a square image of `size` device-independent pixels."""
    pixels = round(size * device_pixel_ratio)
    drawn = QPixmap(_render(name, _color(role, QIcon.Mode.Normal), pixels, pixels))
    drawn.setDevicePixelRatio(device_pixel_ratio)
    return drawn


def icon(name: str, role: IconRole = "text") -> QIcon:
    """The icon as a QIcon that follows the theme by itself. Raises KeyError for an unknown name."""
    svg_source(name)
    return QIcon(_ThemedIconEngine(name, role))


def _color(role: IconRole, mode: QIcon.Mode) -> str:
    palette = theme().palette
    if mode == QIcon.Mode.Disabled:
        return palette.faint
    return palette.accent_text if role == "accent" else str(getattr(palette, role))


class _ThemedIconEngine(QIconEngine):
    """Looks the color up at each painting, so no icon has to be set again when the theme changes."""

    def __init__(self, name: str, role: IconRole) -> None:
        super().__init__()
        self._name = name
        self._role = role

    def clone(self) -> QIconEngine:
        return _ThemedIconEngine(self._name, self._role)

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, state: QIcon.State) -> None:
        painter.drawPixmap(rect, self.scaledPixmap(rect.size(), mode, state, painter.device().devicePixelRatioF()))

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        return self.scaledPixmap(size, mode, state, 1.0)

    def scaledPixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State, scale: float) -> QPixmap:
        """`size` is device-independent (since Qt 6.8), `scale` the device pixel ratio."""
        width, height = max(round(size.width() * scale), 1), max(round(size.height() * scale), 1)
        drawn = QPixmap(_render(self._name, _color(self._role, mode), width, height))
        drawn.setDevicePixelRatio(scale)
        return drawn

    def addPixmap(self, pixmap: QPixmap | QImage, mode: QIcon.Mode, state: QIcon.State) -> None:
        raise TypeError(f"the icon {self._name!r} is drawn from its file; make another QIcon for an image")
