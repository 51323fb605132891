"""A grid of small images with captions: what the data looks like."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QEvent, QRect, QSize, Qt
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QImage,
    QPainter,
    QPainterPath,
    QPen,
    QResizeEvent,
    QStandardItem,
    QStandardItemModel,
)
from PySide6.QtWidgets import (
    QListView,
    QSizePolicy,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from studio.theme import RADIUS, font, theme
from studio.widgets.tables import AnyIndex

_GAP = 8


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
    stands below its caption."""

    def __init__(self, tile: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.tile = tile
        self.named = False

    def sizeHint(self, option: QStyleOptionViewItem, index: AnyIndex) -> QSize:
        return self.cell(option.fontMetrics)

    def cell(self, metrics: QFontMetrics) -> QSize:
        """The room of one image with its words."""
        return QSize(self.tile, self.tile + (1 + self.named) * metrics.height() + 2)

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
        painter.setFont(font("caption"))
        words = QRect(frame.left(), frame.bottom() + 1, frame.width(), option.rect.bottom() - frame.bottom())
        lines = [(thumbnail.caption, palette.text if self.named else palette.muted, Qt.TextElideMode.ElideRight)]
        if self.named:
            lines.append((thumbnail.name, palette.muted, Qt.TextElideMode.ElideLeft))
        words.setHeight(words.height() // len(lines))
        for text, color, mode in lines:
            painter.setPen(QColor(color))
            shown = painter.fontMetrics().elidedText(text, mode, words.width())
            painter.drawText(words, Qt.AlignmentFlag.AlignCenter, shown)
            words.translate(0, words.height())
        painter.restore()


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


class ThumbnailGrid(QListView):
    """Wraps to the width; is as high as its rows, up to `max_rows`, then it scrolls."""

    def __init__(self, *, tile: int = 84, max_rows: int = 3) -> None:
        super().__init__()
        self._max_rows = max_rows
        self._cell = QSize()
        self._model = QStandardItemModel(self)
        self.setModel(self._model)
        self._delegate = ThumbnailDelegate(tile, self)
        self.setItemDelegate(self._delegate)
        self._measure()
        self.setEditTriggers(QListView.EditTrigger.NoEditTriggers)
        self.setViewMode(QListView.ViewMode.IconMode)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.setMovement(QListView.Movement.Static)
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        self.setAccessibleName("Images")
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def set_thumbnails(self, thumbnails: Sequence[Thumbnail]) -> None:
        """Show other images."""
        self._model.clear()
        for thumbnail in thumbnails:
            item = QStandardItem(", ".join(filter(None, (thumbnail.caption, thumbnail.name))) or thumbnail.tooltip)
            item.setToolTip(thumbnail.tooltip)
            item.setData(thumbnail, Qt.ItemDataRole.UserRole)
            self._model.appendRow(item)
        self.updateGeometry()

    def thumbnails(self) -> list[Thumbnail]:
        """The images that are shown."""
        return [self._model.item(row).data(Qt.ItemDataRole.UserRole) for row in range(self._model.rowCount())]

    def set_tile(self, tile: int, *, named: bool = False) -> None:
        """Images of another size, in pixels; ``named``: with their names below."""
        self._delegate.tile, self._delegate.named = tile, named
        self._measure()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.StyleChange):
            self._measure()

    def _measure(self) -> None:
        self._cell = self._delegate.cell(self.fontMetrics()) + QSize(_GAP, _GAP)
        self.setGridSize(self._cell)
        self.updateGeometry()

    def rows(self) -> int:
        """How many rows the images need at the present width."""
        across = max(1, self.viewport().width() // self._cell.width())
        return -(-self._model.rowCount() // across)

    def sizeHint(self) -> QSize:
        rows = min(max(self.rows(), 1), self._max_rows)
        return QSize(self._cell.width() * 4, rows * self._cell.height() + 2 * self.frameWidth())

    def minimumSizeHint(self) -> QSize:
        return QSize(self._cell.width(), self.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.size().width() != event.oldSize().width():
            self.updateGeometry()
