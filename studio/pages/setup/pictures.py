"""The engine's pixels as Qt pictures."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from PySide6.QtGui import QImage

from studio.widgets import Thumbnail


def picture(facts: Mapping[str, Any], key: str) -> QImage:
    """The pixels under ``key`` (uint8, row by row, channels last; 1, 3 or 4 channels) as a picture of its own memory."""
    pixels = base64.b64decode(facts[key])
    width, height, channels = int(facts["width"]), int(facts["height"]), int(facts["channels"])
    formats = {1: QImage.Format.Format_Grayscale8, 3: QImage.Format.Format_RGB888, 4: QImage.Format.Format_RGBA8888}
    # A copy, because QImage only borrows the bytes it is given.
    return QImage(pixels, width, height, width * channels, formats[channels]).copy()


def thumbnails(report: Mapping[str, Any], *, varied: bool) -> list[Thumbnail]:
    """The samples of an inspection: as they come from the disk, or varied as training sees them."""
    key = "pixels_base64" if varied else "original_base64"
    return [
        Thumbnail(
            picture(facts, key),
            str(facts["label"]),
            f"{facts['label']}, sample {facts['index']:,}, {facts['width']} × {facts['height']} pixels",
            facts["index"],
        )
        for facts in report.get("thumbnails", ())
    ]
