"""The engine's pixels as Qt images."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import numpy as np
from PySide6.QtGui import QColor, QImage

from studio.widgets import Thumbnail
from training.protocol.answers import Sample
from training.typed_paths import expand_known_home

IGNORED = 255
"""The class number of a pixel that does not count."""
_LONGEST_NAME = 8
_GOLDEN_ANGLE = 137.508
"""Degrees: hues that follow each other by it are far apart, however many there are."""


def class_color(number: int) -> str:
    """The color of a class wherever its pixels are marked."""
    saturation, value = ((0.75, 0.95), (0.9, 0.7), (0.5, 0.9))[number // 3 % 3]
    return QColor.fromHsvF(number * _GOLDEN_ANGLE % 360 / 360, saturation, value).name()


def read_image(sample: Sample, *, varied: bool, masked: bool = True) -> QImage:
    """The pixels (uint8, row by row, channels last; 1, 3 or 4 channels) as an image of its own memory; with a mask each class
    has its color over it where ``masked``."""
    mask = sample.mask_base64 if varied else sample.original_mask_base64
    pixels = base64.b64decode(sample.pixels_base64 if varied else sample.original_base64)
    if mask is not None and masked:
        return _overlay(sample, pixels, base64.b64decode(mask))
    formats = {1: QImage.Format.Format_Grayscale8, 3: QImage.Format.Format_RGB888, 4: QImage.Format.Format_RGBA8888}
    # A copy, because QImage only borrows the bytes it is given.
    row = sample.width * sample.channels
    return QImage(pixels, sample.width, sample.height, row, formats[sample.channels]).copy()


def _overlay(sample: Sample, pixels: bytes, mask: bytes) -> QImage:
    """Half image, half the color of each pixel's class; what is ignored shows the image alone."""
    height, width = sample.height, sample.width
    shown = np.frombuffer(pixels, np.uint8).reshape(height, width, sample.channels)[..., :3]
    shown = np.broadcast_to(shown, (height, width, 3)).astype(np.uint16)
    classes = np.frombuffer(mask, np.uint8).reshape(height, width)
    table = np.zeros((IGNORED + 1, 3), np.uint16)
    for number in np.unique(classes).tolist():
        color = QColor(class_color(number))
        table[number] = color.red(), color.green(), color.blue()
    mixed = np.where((classes == IGNORED)[..., None], shown, (shown + table[classes]) // 2).astype(np.uint8)
    return QImage(mixed.tobytes(), width, height, 3 * width, QImage.Format.Format_RGB888).copy()


def varies(sample: Sample) -> bool:
    """Whether training sees another image, or another mask, than lies on the disk."""
    return (sample.pixels_base64, sample.mask_base64) != (sample.original_base64, sample.original_mask_base64)


def _caption(sample: Sample) -> str:
    """Of a file's name its end, in which it differs from its neighbors."""
    label = sample.label
    return f"…{label[1 - _LONGEST_NAME :]}" if sample.mask_base64 is not None and len(label) > _LONGEST_NAME else label


def find_file(name: str, place: str) -> Path | None:
    """The file that a dataset at ``place`` calls ``name``; None where a sample has none of its own."""
    if not name or not place:
        return None
    root = expand_known_home(place)
    return next((found for found in (root / name, root.parent / name) if found.is_file()), None)


def thumbnails(samples: Sequence[Sample], *, varied: bool, place: str = "") -> list[Thumbnail]:
    """``samples`` of what lies at ``place``: as they come from the disk, or varied as training sees them."""
    return [
        Thumbnail(
            read_image(sample, varied=varied),
            _caption(sample),
            f"{(varied and sample.varied_detail) or sample.detail or sample.label}, {sample.name or sample.index}, "
            f"{f'mask {sample.mask_name}, ' if sample.mask_name else ''}{sample.width} × {sample.height} pixels",
            find_file(sample.name, place),
            PurePosixPath(sample.name).name,
            sample.place,
        )
        for sample in samples
    ]
