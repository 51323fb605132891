"""Masks: the values of an image's pixels as class numbers, for segmentation, and text files that name the classes: one a line,
for color masks with its red, green and blue."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from training.errors import InputError
from training.facts import IGNORED_PIXEL
from training.system.untrusted import MEGABYTE, escape_unprintable, read_bytes

MOST_CLASSES = IGNORED_PIXEL
UNKNOWN = -1
Color = tuple[int, int, int]


class NoMask(Exception):
    """The image cannot be read as a mask; the text says why, as a clause after its name."""


@dataclass(frozen=True)
class MaskForm:
    """What a mask's values mean. With ``colors`` masks are read by color, otherwise as indices: gray values, or places in
    a palette."""

    codes: tuple[int, ...]
    """The class number of each index or color, ``IGNORED_PIXEL`` for one that is not learned, -1 for one that is unknown."""
    colors: tuple[Color, ...] = ()
    ignore_unknown: bool = False
    """Whether other values are ignored, too; they are refused otherwise."""

    @classmethod
    def of(
        cls, count: int, colors: Sequence[Color] = (), ignored: int | None = None, ignore_unknown: bool = False
    ) -> MaskForm:
        """For ``count`` classes in the order of their indices or colors; without ``ignored`` among them, the others move
        up."""
        numbers = iter(range(count))
        codes = [IGNORED_PIXEL if index == ignored else next(numbers) for index in range(count)]
        if ignored is not None and count <= ignored < IGNORED_PIXEL:
            codes += [UNKNOWN] * (ignored - count) + [IGNORED_PIXEL]
        return cls(tuple(codes), tuple(colors), ignore_unknown)

    def numbers(self, image: Image.Image) -> NDArray[np.uint8]:
        """uint8 (H, W): the class number of each pixel, ``IGNORED_PIXEL`` where there is none. Raises NoMask."""
        if self.colors and (len(image.getbands()) > 1 or image.mode == "P" or self._gray()):
            return self._by_color(image)
        values = indices(image)
        lookup = np.full(256, UNKNOWN, dtype=np.int16)
        lookup[: len(self.codes)] = self.codes
        lookup[IGNORED_PIXEL] = IGNORED_PIXEL
        found = lookup[values]
        unknown = found == UNKNOWN
        if unknown.any() and not self.ignore_unknown:
            x, y = _first_pixel(unknown)
            raise NoMask(f"holds the value {int(values[y, x])} at pixel ({x}, {y}), which is no class")
        return np.where(unknown, IGNORED_PIXEL, found).astype(np.uint8)

    def _gray(self) -> bool:
        return all(red == green == blue for red, green, blue in self.colors)

    def _by_color(self, image: Image.Image) -> NDArray[np.uint8]:
        red, green, blue = np.moveaxis(np.asarray(image.convert("RGB")).astype(np.int32), 2, 0)
        values = red << 16 | green << 8 | blue
        known = np.array([r << 16 | g << 8 | b for r, g, b in self.colors])
        order = np.argsort(known)
        places = order[np.minimum(np.searchsorted(known, values, sorter=order), len(known) - 1)]
        unknown = known[places] != values
        if unknown.any() and not self.ignore_unknown:
            x, y = _first_pixel(unknown)
            value = int(values[y, x])
            color = f"({value >> 16}, {value >> 8 & 255}, {value & 255})"
            raise NoMask(f"holds the color {color} at pixel ({x}, {y}), which the class list does not name")
        codes = np.array(self.codes[: len(known)], dtype=np.uint8)[places]
        codes[unknown] = IGNORED_PIXEL
        return codes


def _first_pixel(which: NDArray[np.bool_]) -> tuple[int, int]:
    """x and y."""
    y, x = np.unravel_index(int(which.argmax()), which.shape)
    return int(x), int(y)


def indices(image: Image.Image) -> NDArray[np.uint8]:
    """The indices (H, W) of a gray or palette image, also of gray saved as color. Raises NoMask."""
    if image.mode in ("L", "P"):
        return np.asarray(image)
    values = np.asarray(image)
    if values.dtype == np.bool_:
        return values.astype(np.uint8)
    if values.ndim == 3 and image.mode in ("RGB", "RGBA", "LA"):
        first = values[..., 0]
        if image.mode != "LA" and not (values[..., :3] == first[..., None]).all():
            raise NoMask("is in color, but no class list says what its colors mean")
        return first
    if values.ndim == 2 and np.issubdtype(values.dtype, np.integer) and values.min() >= 0 and values.max() <= 255:
        return values.astype(np.uint8)
    raise NoMask("holds no indices of 0 to 255")


_NUMBERS = re.compile(r"\d{1,3}")
_HEADERS = (["name", "r", "g", "b"], ["class", "r", "g", "b"], ["r", "g", "b", "name"], ["name"])


@dataclass(frozen=True)
class ClassList:
    """Names in the order of their indices, and their colors or none at all."""

    names: tuple[str, ...]
    colors: tuple[Color, ...] = ()


def read_class_list(path: Path) -> ClassList:
    """Lines ``name``, ``name r g b`` or ``r g b name``, separated by spaces, tabs or commas; raises InputError."""
    try:
        text = read_bytes(path, MEGABYTE).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not a text in UTF-8.", "Save the class list as plain text.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.", "Choose another class list.") from error
    return parse_classes(text.splitlines(), lambda number: f"{path}, line {number}", str(path))


def parse_classes(lines: Sequence[str], where: Callable[[int], str], whole: str) -> ClassList:
    """The classes of ``lines``; ``where`` says what the line of a number, from 1, is called, and ``whole`` all of them. Raises
    InputError."""
    names: list[str] = []
    colors: list[Color] = []
    for number, line in enumerate(lines, start=1):
        words = [word for word in re.split(r"[\s,;]+", line.strip()) if word]
        if not words or words[0].startswith("#") or (not names and [word.lower() for word in words] in _HEADERS):
            continue
        name, color = _split_line(words)
        if color is not None and max(color) > 255:
            raise _wrong(where(number), f"has a color beyond 255: {escape_unprintable(line, 80)}")
        if name in names:
            raise _wrong(where(number), f"names {escape_unprintable(name, 80)} a second time")
        if color is not None and color in colors:
            raise _wrong(where(number), f"gives {escape_unprintable(name, 80)} a color that another class has")
        names.append(name)
        colors += [] if color is None else [color]
        if colors and len(colors) != len(names):
            raise _wrong(where(number), "has a color where others have none, or the other way round")
    if not 1 <= len(names) <= MOST_CLASSES:
        raise InputError(
            f"{whole} names {len(names)} classes; masks may have 1 to {MOST_CLASSES}.", "Correct the list."
        )
    return ClassList(tuple(names), tuple(colors))


def _split_line(words: list[str]) -> tuple[str, Color | None]:
    """Name and color of a line."""
    for numbers, rest in ((words[-3:], words[:-3]), (words[:3], words[3:])):
        if rest and len(numbers) == 3 and all(_NUMBERS.fullmatch(word) for word in numbers):
            red, green, blue = map(int, numbers)
            return " ".join(rest), (red, green, blue)
    return " ".join(words), None


def _wrong(where: str, what: str) -> InputError:
    return InputError(f"{where}: {what}.", "Write one class a line: its name, or its name and red green blue.")
