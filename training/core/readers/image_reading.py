"""Image files as arrays of bytes: every mode and orientation to gray or RGB of one size."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageOps
from torch import Tensor

# What is hidden, and what systems leave behind.
SYSTEM_NAME = re.compile(r"(?is)\..*|(eh)?thumbs\.db|desktop\.ini|icon\r|__macosx|@eadir|\$recycle\.bin")


class UnfitImage(ValueError):
    """An image whose pixels have no agreed range of brightness."""


def read_images(
    roots: dict[str, Path], classes: list[str], endings: list[str], decode: Callable[..., Any], tell: Callable[..., Any]
) -> tuple[Tensor, Tensor, dict[str, Tensor], list[Path]]:
    """Images uint8 (n, H, W, C) as ``decode`` makes them of what Pillow opens, their classes int64 (n,), the numbers of the
    images of each part, and the files. Each part's root has one folder for each class, with files whose names have one of the
    ``endings`` at any depth; ``tell`` hears why one is left out."""
    images, numbers, parts = [], [], {}
    files: list[Path] = []
    for part, root in roots.items():
        first = len(files)
        for path in sorted(root.rglob("*"), key=lambda path: path.parts):
            name, *below = path.relative_to(root).parts
            name = unicodedata.normalize("NFC", name)
            known = name in classes and path.suffix.lower() in endings and not any(map(SYSTEM_NAME.fullmatch, below))
            try:
                if known and path.is_file():
                    with Image.open(path) as image:
                        images.append(decode(image))
                    numbers.append(classes.index(name))
                    files.append(path)
            except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError) as error:
                tell(f"left out {path}: {error}")  # one broken file must not end the training
        parts[part] = torch.arange(first, len(files))
    if not files:
        raise FileNotFoundError("it holds no images of the classes")
    return torch.from_numpy(np.stack(images)), torch.tensor(numbers), parts, files


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
