"""One image file to pixels: every format, mode and orientation to uint8 RGB or gray of one size, with its mask if any."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps, UnidentifiedImageError

from training.core.readers.image_pixels import UnfitImage, decode_image, flatten_image
from training.data.images.files import File, Pair, formats
from training.data.images.masks import MaskForm, NoMask
from training.system.untrusted import UnfitFile, escape_unprintable, open_file, read_bytes

MAX_PIXELS = 1 << 27
"""Larger images are left out: a file of a few kilobytes can unpack to gigabytes (a decompression bomb)."""
_TOO_LARGE = f"has more than {MAX_PIXELS // 10**6} million pixels"

Image.MAX_IMAGE_PIXELS = MAX_PIXELS  # Pillow warns from here on and refuses twice as many; here the former is enough

MAX_BYTES = 1 << 29
"""Larger files are left out: nobody trains on such images, and a sparse file claims any size."""


class Unusable(Exception):
    """The file is no image that can be used; the text says why."""


class DifferentSize(Exception):
    """The image is fine, but not of the size all images were thought to have."""


Outcome = tuple[NDArray[np.uint8], bytes] | Unusable | DifferentSize
"""What became of a file: its pixels (H, W, C) and the SHA-256 of its content, or why there are none."""


@dataclass(frozen=True)
class Form:
    """What every image becomes: ``fit`` scales and center-crops it, otherwise its size must be this one. ``mask`` says
    how the masks are read, if each image has one."""

    height: int
    width: int
    channels: int
    fit: bool
    mask: MaskForm | None = None

    @property
    def shape(self) -> tuple[int, int, int]:
        """As the model sees it."""
        return (self.channels, self.height, self.width)

    @property
    def pixels(self) -> tuple[int, int, int]:
        """As memory holds it: a mask is one channel more."""
        return (self.height, self.width, self.channels + (self.mask is not None))


def outcome(file: File, form: Form) -> Outcome:
    """What becomes of a file, or of an image and its mask."""
    try:
        if isinstance(file, Pair):
            picture, mask = _read_pair(file)
            return _unpack_pair(picture, mask, file.mask.name, form), _pair_digest(picture, mask)
        data = read_image(file)
        return _unpack(data, form), hashlib.sha256(data).digest()
    except (Unusable, DifferentSize) as error:
        return error


def content_digest(file: File) -> bytes:
    """The digest that ``outcome`` gives, without decoding anything. Raises Unusable."""
    if isinstance(file, Pair):
        return _pair_digest(*_read_pair(file))
    return hashlib.sha256(read_image(file)).digest()


def _read_pair(pair: Pair) -> tuple[bytes, bytes]:
    picture = read_image(pair.image)
    with _name_mask(pair.mask.name):
        return picture, read_image(pair.mask)


def _pair_digest(picture: bytes, mask: bytes) -> bytes:
    return hashlib.sha256(hashlib.sha256(picture).digest() + hashlib.sha256(mask).digest()).digest()


def read_image(path: Path) -> bytes:
    """The content of a file that is said to be an image. Raises Unusable."""
    try:
        return read_bytes(path, MAX_BYTES)
    except UnfitFile as error:
        raise Unusable(str(error.strerror)) from error
    except OSError as error:
        raise Unusable(f"cannot be read: {error.strerror or error}") from error


def own_size(path: Path) -> tuple[int, int] | None:
    """(height, width) as seen upright, from the header; None when it is no image."""
    try:
        with open_file(path, MAX_BYTES) as stream, open_image(stream) as image:
            width, height = image.size
            return (width, height) if image.getexif().get(0x0112, 1) >= 5 else (height, width)
    except Exception:  # noqa: BLE001 - decoders raise anything on broken data; outcome() will say what
        return None


def _unpack(data: bytes, form: Form) -> NDArray[np.uint8]:
    """The pixels (H, W, C) of a file's content. Raises Unusable or DifferentSize."""
    with _explain_faults(data), open_image(io.BytesIO(data)) as image:
        if form.fit and form.mask is None:  # one that is told a mask is read as those that had one
            return decode_image(image, form.height, form.width, form.channels)
        image.load()
        return _fit(flatten_image(image, form.channels), form)


def _unpack_pair(picture: bytes, mask: bytes, mask_name: str, form: Form) -> NDArray[np.uint8]:
    """The pixels of an image with the class numbers of its mask behind the channels (H, W, C + 1)."""
    assert form.mask is not None, "whoever lists masks says how they are read"
    # Never at a fraction of the size: its edges would not be where those of the mask are.
    with _explain_faults(picture), open_image(io.BytesIO(picture)) as image:
        image.load()
        shown = flatten_image(image, form.channels)
    with _name_mask(mask_name), _explain_faults(mask), open_image(io.BytesIO(mask)) as image:
        image.load()
        numbers = form.mask.numbers(ImageOps.exif_transpose(image))
    height, width = numbers.shape
    if shown.size != (width, height):
        raise Unusable(f"has {shown.width} × {shown.height} pixels, but its mask {width} × {height}")
    classes = Image.fromarray(numbers)
    if form.fit:
        classes = ImageOps.fit(classes, (form.width, form.height), Image.Resampling.NEAREST)
    return np.concatenate([_fit(shown, form), np.asarray(classes)[..., None]], axis=2)


@contextmanager
def _name_mask(name: str) -> Iterator[None]:
    """Say of a fault that it is the mask's."""
    try:
        yield
    except Unusable as error:
        raise Unusable(f"its mask {escape_unprintable(name, 200)}: {error}") from error
    except NoMask as error:
        raise Unusable(f"its mask {escape_unprintable(name, 200)} {error}") from error


@contextmanager
def _explain_faults(data: bytes) -> Iterator[None]:
    """Turn whatever decoding ``data`` raises into Unusable with the reason."""
    if not data:
        raise Unusable("empty file")
    try:
        yield
    except (Unusable, DifferentSize, NoMask):
        raise
    except UnfitImage as error:
        raise Unusable(str(error)) from error
    except UnidentifiedImageError as error:
        raise Unusable("not an image in a format that can be read") from error
    except MemoryError as error:
        raise Unusable("needs more memory than there is") from error
    except Exception as error:  # decoders raise anything on broken data
        raise Unusable(f"damaged: {escape_unprintable(str(error), 200)}") from error


def open_image(stream: BinaryIO) -> Image.Image:
    """Its header only, as Pillow reads it. Raises Unusable for one too large, and what Pillow raises for none."""
    try:
        image = Image.open(stream, formats=formats())
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise Unusable(_TOO_LARGE) from error
    if image.width * image.height > MAX_PIXELS:
        raise Unusable(_TOO_LARGE)
    return image


def _fit(image: Image.Image, form: Form) -> NDArray[np.uint8]:
    if form.fit:
        image = ImageOps.fit(image, (form.width, form.height), Image.Resampling.BILINEAR)
    elif image.size != (form.width, form.height):
        raise DifferentSize
    return np.asarray(image).reshape(form.height, form.width, form.channels)
