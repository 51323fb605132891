"""The classes of masks as a text file names them: a name a line, for colour masks with its red, green and blue."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from training.data.masks import MOST_CLASSES, Color
from training.errors import InputError
from training.reading import MEGABYTE, read_bytes, visible

_NUMBERS = re.compile(r"\d{1,3}")
_HEADERS = (["name", "r", "g", "b"], ["class", "r", "g", "b"], ["r", "g", "b", "name"], ["name"])


@dataclass(frozen=True)
class ClassList:
    """Names in the order of their indices, and their colours or none at all."""

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
    names: list[str] = []
    colors: list[Color] = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = [word for word in re.split(r"[\s,;]+", line.strip()) if word]
        if not words or words[0].startswith("#") or (not names and [word.lower() for word in words] in _HEADERS):
            continue
        name, color = _parted(words)
        if color is not None and max(color) > 255:
            raise _wrong(path, number, f"has a colour beyond 255: {visible(line, 80)}")
        if name in names:
            raise _wrong(path, number, f"names {visible(name, 80)} a second time")
        if color is not None and color in colors:
            raise _wrong(path, number, f"gives {visible(name, 80)} a colour that another class has")
        names.append(name)
        colors += [] if color is None else [color]
        if colors and len(colors) != len(names):
            raise _wrong(path, number, "has a colour where others have none, or the other way round")
    if not 1 <= len(names) <= MOST_CLASSES:
        raise InputError(f"{path} names {len(names)} classes; masks may have 1 to {MOST_CLASSES}.", "Correct the list.")
    return ClassList(tuple(names), tuple(colors))


def _parted(words: list[str]) -> tuple[str, Color | None]:
    """Name and colour of a line."""
    for numbers, rest in ((words[-3:], words[:-3]), (words[:3], words[3:])):
        if rest and len(numbers) == 3 and all(_NUMBERS.fullmatch(word) for word in numbers):
            red, green, blue = map(int, numbers)
            return " ".join(rest), (red, green, blue)
    return " ".join(words), None


def _wrong(path: Path, line: int, what: str) -> InputError:
    return InputError(
        f"{path}, line {line}: {what}.", "Write one class a line: its name, or its name and red green blue."
    )
