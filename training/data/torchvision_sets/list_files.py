"""Reading the lists of a set without trust."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from training.data.torchvision_sets.place import AGAIN
from training.errors import InputError
from training.system.untrusted import MEGABYTE, escape_unprintable, read_bytes

_MOST_LIST = 256 * MEGABYTE


@dataclass
class Listed:
    """``rows`` are (part, number of the class, path below the folder of the set), in the order of torchvision."""

    classes: tuple[str, ...] = ()
    rows: list[tuple[str, int, str]] = field(default_factory=list)


def read_text(path: Path) -> str:
    """Raises InputError."""
    try:
        return read_bytes(path, _MOST_LIST).decode()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be read ({reason}).", AGAIN) from error


def read_lines(path: Path) -> list[str]:
    """The lines of a text that are not empty. Raises InputError."""
    return [line.strip() for line in read_text(path).splitlines() if line.strip()]


def read_words(path: Path, count: int) -> Iterator[list[str]]:
    """Of each line, which has ``count``. Raises InputError."""
    for line in read_lines(path):
        words = line.split()
        if len(words) != count:
            raise wrong(path, line)
        yield words


def entries(folder: Path, wanted: Callable[[Path], bool]) -> list[str]:
    """Names in the folder, sorted. Raises InputError."""
    try:
        return sorted(entry.name for entry in folder.iterdir() if wanted(entry))
    except OSError as error:
        raise InputError(
            f"{folder} cannot be read: {error.strerror or error}.", "Delete the set, and get it again."
        ) from error


def class_number(classes: tuple[str, ...], name: str, path: Path) -> int:
    """Raises InputError, naming the list ``path``, where there is no such class."""
    try:
        return classes.index(name)
    except ValueError as error:
        raise wrong(path, name) from error


def wrong(path: Path, line: str) -> InputError:
    """What to raise for a line of the list ``path``."""
    return InputError(f"{path} is damaged: it has a line that names no class, {escape_unprintable(line, 80)!r}.", AGAIN)
