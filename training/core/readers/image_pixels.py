"""The pixels of an image: every mode and orientation to gray or RGB of one size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps


class UnfitImage(ValueError):
    """An image whose pixels have no agreed range of brightness."""


def decode_image(image: Image.Image, height: int, width: int, channels: int) -> NDArray[np.uint8]:
    """uint8 (height, width, channels) of an image of which only the header was read: its shorter side is scaled, with
    antialiasing, and its longer one cut evenly at both ends."""
    if image.format == "JPEG":  # decoded at a half, a quarter, ..., where that leaves twice the size: much faster
        image.draft(None, (2 * width, 2 * height))
    image.load()
    fitted = ImageOps.fit(flatten_image(image, channels), (width, height), Image.Resampling.BILINEAR)
    return np.asarray(fitted).reshape(height, width, channels)


def flatten_image(image: Image.Image, channels: int) -> Image.Image:
    """Upright 8-bit RGB or gray; what is transparent becomes white, as on the page of a browser. Raises UnfitImage."""
    if image.format != "JPEG" or image.info.keys() & {"exif", "xmp"}:  # to look in vain costs as much as to decode
        image = ImageOps.exif_transpose(image)
    if image.mode.startswith(("I", "F")):  # scaled, where Pillow's own conversion would clip
        wide = np.asarray(image)
        if image.mode == "F" or wide.min() < 0 or wide.max() > 65535:
            raise UnfitImage("its pixels of 32 bits have no agreed brightness range; save it with 8 or 16 bits")
        image = Image.fromarray(((wide.astype(np.int64) * 255 + 32767) // 65535).astype(np.uint8))
    elif image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    return image.convert("RGB" if channels == 3 else "L")
