"""The classes of pixels laid over an image: those that are true, those that were predicted, or where they differ."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QSize
from PySide6.QtGui import QColor, QImage, QPainter

from studio.panels.samples.images import IGNORED, class_color
from studio.theme import theme

Layer = Literal["image", "truth", "prediction", "errors"]
Classes = NDArray[np.uint8]


def lay_over(image: QImage, truth: Classes, prediction: Classes, layer: Layer, opacity: float) -> QImage:
    """``image`` with a layer of (H, W) class numbers over it, as opaque as ``opacity`` says, from 0 to 1; without an image the layer
    alone. Pixels whose truth is ignored are wrong in no prediction."""
    height, width = truth.shape
    shown = QImage(image.size().expandedTo(QSize(width, height)), QImage.Format.Format_RGB32)
    shown.fill(QColor(theme().palette.sunken))
    painter = QPainter(shown)
    if not image.isNull():
        painter.drawImage(shown.rect(), image)
    if layer != "image":
        painter.setOpacity(opacity)
        painter.drawImage(shown.rect(), _color_layer(truth, prediction, layer))
    painter.end()
    return shown


def _color_layer(truth: Classes, prediction: Classes, layer: Layer) -> QImage:
    counted = truth != IGNORED
    if layer == "errors":
        pixels = np.zeros((*truth.shape, 4), np.uint8)
        color = QColor(theme().palette.danger)
        pixels[counted & (truth != prediction)] = color.red(), color.green(), color.blue(), 255
    else:
        classes = truth if layer == "truth" else prediction
        table = np.zeros((256, 4), np.uint8)
        for number in np.flatnonzero(np.bincount(classes.ravel(), minlength=256)[:IGNORED]).tolist():
            color = QColor(class_color(number))
            table[number] = color.red(), color.green(), color.blue(), 255
        pixels = table[classes]
    height, width = truth.shape
    return QImage(pixels.tobytes(), width, height, 4 * width, QImage.Format.Format_RGBA8888).copy()
