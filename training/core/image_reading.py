"""Image files as arrays of bytes: every mode and orientation to grey or RGB of one size."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image, ImageOps
from torch import Tensor

SYSTEM_NAMES = {"thumbs.db", "ehthumbs.db", "desktop.ini", "__macosx", "icon\r", "@eadir", "$recycle.bin"}


class UnfitImage(ValueError):
    """An image whose pixels have no agreed range of brightness."""


def list_images(folder: Path, classes: Sequence[str], suffixes: Iterable[str]) -> list[tuple[Path, int]]:
    """The files below the class folders of ``folder`` whose names end in one of ``suffixes`` (lower case), each with the
    number of its class, in the order of their paths."""
    found = []
    for path in sorted(folder.rglob("*"), key=lambda path: path.parts):
        name, *below = path.relative_to(folder).parts
        name = unicodedata.normalize("NFC", name)
        known = name in classes and path.suffix.lower() in suffixes and not any(map(is_system_name, below))
        if known and path.is_file() and path.stat().st_size:
            found.append((path, classes.index(name)))
    return found


def is_system_name(name: str) -> bool:
    """Whether it is a file or folder that systems leave behind, or hidden."""
    return name.startswith(".") or name.lower() in SYSTEM_NAMES


def read_images(
    root: Path,
    folders: Mapping[str, str],
    classes: Sequence[str],
    suffixes: Iterable[str],
    read: Callable[[Path], Tensor],
    tell: Callable[[str], None],
) -> tuple[Tensor, Tensor, dict[str, Tensor], list[Path]]:
    """Images uint8 (n, ...) as ``read`` gives them, their classes int64 (n,), the numbers of the images of each part, and
    the file of each. ``folders`` of ``root`` hold the parts; ``tell`` hears why a file is left out."""
    listed = {part: list_images(root / folder, classes, suffixes) for part, folder in folders.items()}
    if not any(listed.values()):
        raise FileNotFoundError("it holds no images of the classes")
    images, numbers, parts = [], [], {}
    files: list[Path] = []
    for part, some in listed.items():
        first = len(files)
        for path, number in some:
            try:
                images.append(read(path))
            except (OSError, ValueError, SyntaxError, EOFError, Image.DecompressionBombError) as error:
                tell(f"left out {path}: {error}")  # one broken file must not end the training
                continue
            numbers.append(number)
            files.append(path)
        parts[part] = torch.arange(first, len(files))
    return torch.stack(images), torch.tensor(numbers), parts, files


def read_image(path: Path, height: int, width: int, channels: int) -> Tensor:
    """uint8 (height, width, channels) of a file; raises what Pillow raises for a broken one."""
    with Image.open(path) as image:
        return torch.from_numpy(decode_image(image, height, width, channels).copy())


def decode_image(image: Image.Image, height: int, width: int, channels: int) -> NDArray[np.uint8]:
    """uint8 (height, width, channels) of an image of which only the header was read: its shorter side is scaled, with
    antialiasing, and its longer one cut evenly at both ends."""
    if image.format == "JPEG":  # decoded at a half, a quarter, ..., where that leaves twice the size: much faster
        image.draft(None, (2 * width, 2 * height))
    image.load()
    image = flatten_image(turn_upright(image), channels)
    fitted = ImageOps.fit(image, (width, height), Image.Resampling.BILINEAR)
    return np.asarray(fitted).reshape(height, width, channels)


def turn_upright(image: Image.Image) -> Image.Image:
    """Turned as the camera noted in EXIF or XMP."""
    if image.format == "JPEG" and not image.info.keys() & {"exif", "xmp"}:
        return image  # looking for a note that is not there costs as much as decoding a small image
    return ImageOps.exif_transpose(image)


def flatten_image(image: Image.Image, channels: int) -> Image.Image:
    """8-bit RGB or grey; what is transparent becomes white, as on the page of a browser. Raises UnfitImage."""
    if image.mode == "F":
        raise UnfitImage("floating-point pixels have no agreed brightness range; save it with 8 or 16 bits")
    if image.mode == "I" or image.mode.startswith("I;16"):  # scaled, where Pillow's own conversion would clip
        wide = np.asarray(image).astype(np.int64)
        if wide.min() < 0 or wide.max() > 65535:
            raise UnfitImage("32-bit pixels have no agreed brightness range; save it with 8 or 16 bits")
        image = Image.fromarray(((wide * 255 + 32767) // 65535).astype(np.uint8))
    elif image.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in image.info:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    mode = "RGB" if channels == 3 else "L"
    return image if image.mode == mode else image.convert(mode)
