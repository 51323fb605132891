"""The engine's pixels as Qt images."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
from PySide6.QtGui import QColor, QImage

from studio.widgets import Thumbnail

_IGNORED = 255
_LONGEST_NAME = 8
_GOLDEN_ANGLE = 137.508
"""Degrees: hues that follow each other by it are far apart, however many there are."""


def class_color(number: int) -> str:
    """The color of a class wherever its pixels are marked."""
    saturation, value = ((0.75, 0.95), (0.9, 0.7), (0.5, 0.9))[number // 3 % 3]
    return QColor.fromHsvF(number * _GOLDEN_ANGLE % 360 / 360, saturation, value).name()


def read_image(facts: Mapping[str, Any], key: str) -> QImage:
    """The pixels under ``key`` (uint8, row by row, channels last; 1, 3 or 4 channels) as an image of its own memory; with a
    mask each class has its color over it."""
    mask = facts.get({"pixels_base64": "mask_base64", "original_base64": "original_mask_base64"}.get(key, ""))
    if mask is not None:
        return _overlaid(facts, base64.b64decode(facts[key]), base64.b64decode(mask))
    pixels = base64.b64decode(facts[key])
    width, height, channels = int(facts["width"]), int(facts["height"]), int(facts["channels"])
    formats = {1: QImage.Format.Format_Grayscale8, 3: QImage.Format.Format_RGB888, 4: QImage.Format.Format_RGBA8888}
    # A copy, because QImage only borrows the bytes it is given.
    return QImage(pixels, width, height, width * channels, formats[channels]).copy()


def _overlaid(facts: Mapping[str, Any], pixels: bytes, mask: bytes) -> QImage:
    """Half image, half the color of each pixel's class; what is ignored shows the image alone."""
    height, width, channels = int(facts["height"]), int(facts["width"]), int(facts["channels"])
    shown = np.frombuffer(pixels, np.uint8).reshape(height, width, channels)[..., :3]
    shown = np.broadcast_to(shown, (height, width, 3)).astype(np.uint16)
    classes = np.frombuffer(mask, np.uint8).reshape(height, width)
    table = np.zeros((_IGNORED + 1, 3), np.uint16)
    for number in np.unique(classes).tolist():
        color = QColor(class_color(number))
        table[number] = color.red(), color.green(), color.blue()
    mixed = np.where((classes == _IGNORED)[..., None], shown, (shown + table[classes]) // 2).astype(np.uint8)
    return QImage(mixed.tobytes(), width, height, 3 * width, QImage.Format.Format_RGB888).copy()


def _caption(facts: Mapping[str, Any]) -> str:
    """Of a file's name its end, in which it differs from its neighbors."""
    label = str(facts["label"])
    return f"…{label[1 - _LONGEST_NAME :]}" if "mask_base64" in facts and len(label) > _LONGEST_NAME else label


def thumbnails(report: Mapping[str, Any], *, varied: bool) -> list[Thumbnail]:
    """The samples of an inspection: as they come from the disk, or varied as training sees them."""
    key, detail = ("pixels_base64", "varied_detail") if varied else ("original_base64", "detail")
    return [
        Thumbnail(
            read_image(facts, key),
            _caption(facts),
            f"{facts.get(detail, facts.get('detail', facts['label']))}, sample {facts['index']:,}, "
            f"{facts['width']} × {facts['height']} pixels",
        )
        for facts in report.get("thumbnails", ())
    ]
