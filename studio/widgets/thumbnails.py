"""Small images with captions: what the data looks like."""

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QImage,
    QPainter,
    QPainterPath,
    QPen,
)
from PySide6.QtWidgets import (
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from studio.theme import RADIUS, font, theme
from studio.widgets.tables import AnyIndex

_WORDED_FROM = 64
"""Pixels: below smaller images no word could be read; it is in the tooltip."""


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """An image and what to say about it: its file if it is one, what it is called, and its place among all there are, from 0."""

    image: QImage
    caption: str = ""
    tooltip: str = ""
    file: Path | None = None
    name: str = ""
    place: int = 0


class ThumbnailDelegate(QStyledItemDelegate):
    """Paints one image. Tiny ones grow by a whole factor of device pixels, so that each pixel stays a square. ``named``: its name
    stands below its caption, which is there where ``tile`` has room for it."""

    def __init__(self, tile: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.tile = tile
        self.named = False

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        return self.cell(option.fontMetrics)

    def cell(self, metrics: QFontMetrics) -> QSize:
        """The room of one image with its words."""
        lines = 1 + self.named if self.tile >= _WORDED_FROM else 0
        return QSize(self.tile, self.tile + lines * metrics.height() + 2)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: AnyIndex) -> None:
        thumbnail = index.data(Qt.ItemDataRole.UserRole)
        palette = theme().palette
        frame = QRect(option.rect.topLeft(), QSize(self.tile, self.tile))
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        corner = QPainterPath()
        corner.addRoundedRect(frame.adjusted(1, 1, -1, -1), RADIUS.small, RADIUS.small)
        painter.fillPath(corner, QColor(palette.sunken))
        painter.save()
        painter.setClipPath(corner)
        paint_image(painter, thumbnail.image, frame.adjusted(1, 1, -1, -1))
        painter.restore()
        lit = bool(option.state & (QStyle.StateFlag.State_Selected | QStyle.StateFlag.State_MouseOver))
        painter.setPen(QPen(QColor(palette.accent if lit else palette.border), 1.5 if lit else 1))
        painter.drawPath(corner)
        if self.tile >= _WORDED_FROM:
            self._write(painter, option.rect, frame, thumbnail)
        painter.restore()

    def _write(self, painter: QPainter, room: QRect, frame: QRect, thumbnail: Thumbnail) -> None:
        palette = theme().palette
        painter.setFont(font("caption"))
        words = QRect(frame.left(), frame.bottom() + 1, frame.width(), room.bottom() - frame.bottom())
        lines = [(thumbnail.caption, palette.text if self.named else palette.muted, Qt.TextElideMode.ElideRight)]
        if self.named:
            lines.append((thumbnail.name, palette.muted, Qt.TextElideMode.ElideLeft))
        words.setHeight(words.height() // len(lines))
        for text, color, mode in lines:
            painter.setPen(QColor(color))
            shown = painter.fontMetrics().elidedText(text, mode, words.width())
            painter.drawText(words, Qt.AlignmentFlag.AlignCenter, shown)
            words.translate(0, words.height())


def integer_factor(image: QSize, room: QSize) -> int:
    """By how much an image grows to fill `room` (both in device pixels) with whole pixels; 0 when it has to shrink."""
    if image.isEmpty():
        return 0
    return min(room.width() // image.width(), room.height() // image.height())


def fit_image(image: QSize, room: QSize) -> QSize:
    """The size (in device pixels) in which `paint_image` shows an image of `image` pixels in `room`."""
    factor = integer_factor(image, room)
    return image * factor if factor else image.scaled(room, Qt.AspectRatioMode.KeepAspectRatio)


def paint_image(painter: QPainter, image: QImage, frame: QRect) -> None:
    """Put `image` into the middle of `frame`, as large as it can be sharp: it grows by whole factors alone, and shrinks smoothly."""
    if image.isNull():
        return
    ratio = painter.device().devicePixelRatioF()
    size = fit_image(image.size(), frame.size() * ratio)
    is_whole = integer_factor(image.size(), frame.size() * ratio) > 0
    mode = Qt.TransformationMode.FastTransformation if is_whole else Qt.TransformationMode.SmoothTransformation
    scaled = image.scaled(size, Qt.AspectRatioMode.IgnoreAspectRatio, mode)
    scaled.setDevicePixelRatio(ratio)
    shown = scaled.deviceIndependentSize()
    left = frame.left() + (frame.width() - shown.width()) / 2
    top = frame.top() + (frame.height() - shown.height()) / 2
    painter.drawImage(round(left), round(top), scaled)
