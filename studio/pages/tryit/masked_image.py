"""An image that a model was asked about."""

from __future__ import annotations

import base64

import numpy as np
from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from studio.panels.samples.attention import read_pixels
from studio.panels.samples.images import class_color
from studio.theme import theme
from studio.widgets import paint_image
from training.protocol.model_answers import ImagePixels, MaskAnswer

_IMAGE, _LARGE_IMAGE = 160, 320  # pixels of a side


class MaskedImage(QWidget):
    """An image as the model sees it, at ``place`` among the answers; over it lie the classes that it finds, in their colors, or
    where it looked, as long as that is wanted."""

    def __init__(
        self,
        name: str,
        image: ImagePixels,
        mask: MaskAnswer | None = None,
        opacity: float = 1.0,
        side: int = 0,
        place: int = 0,
    ) -> None:
        super().__init__()
        self.place = place
        self._image = read_pixels(image)
        self._mask = _color_mask(mask) if mask is not None else None
        self._heat: QImage | None = None
        self._opacity = self._heat_opacity = opacity
        side = side or (_IMAGE if mask is None else _LARGE_IMAGE)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self._fix_size(side)
        self.setAccessibleName(f"Image {name}" + (" with its mask" if mask is not None else ""))
        theme().changed.connect(self.update)

    def show_heat(self, heat: QImage | None, words: str = "") -> None:
        """Let ``heat`` lie over it, and ``words`` say what that is; None: its mask again, where it has one."""
        self._heat = heat
        self.setToolTip(words)
        self._fix_size(_IMAGE if heat is None and self._mask is None else _LARGE_IMAGE)
        self.update()

    def _fix_size(self, side: int) -> None:
        """The longer side of the image is ``side`` pixels long."""
        self.setFixedSize(
            self._image.size().scaled(side, side, Qt.AspectRatioMode.KeepAspectRatio).expandedTo(QSize(1, 1))
        )

    @property
    def is_covered(self) -> bool:
        """Whether it is seen where the model looked."""
        return self._heat is not None

    def set_opacity(self, opacity: float) -> None:
        """How much of its mask is seen, from 0 to 1."""
        self._opacity = opacity
        self.update()

    def set_heat_opacity(self, opacity: float) -> None:
        """How much of where the model looked is seen, from 0 to 1."""
        self._heat_opacity = opacity
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        frame = QRect(0, 0, self.width(), self.height())
        painter.fillRect(frame, QColor(theme().palette.sunken))
        paint_image(painter, self._image, frame)
        over, opacity = (self._mask, self._opacity) if self._heat is None else (self._heat, self._heat_opacity)
        if over is not None:
            painter.setOpacity(opacity)
            paint_image(painter, over, frame)


def _color_mask(mask: MaskAnswer) -> QImage:
    classes = np.frombuffer(base64.b64decode(mask.classes_base64), np.uint8).reshape(mask.height, mask.width)
    table = np.zeros((256, 3), np.uint8)
    for number in np.unique(classes).tolist():
        color = QColor(class_color(number))
        table[number] = color.red(), color.green(), color.blue()
    colored = np.ascontiguousarray(table[classes])
    return QImage(colored.tobytes(), mask.width, mask.height, 3 * mask.width, QImage.Format.Format_RGB888).copy()
