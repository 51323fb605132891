"""Reading the lists of a set without trust."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from training.data.known.place import AGAIN
from training.errors import InputError
from training.reading import MEGABYTE, parse_json, read_bytes, visible

_MOST_LIST = 256 * MEGABYTE


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


def names_by_class(path: Path) -> dict[str, list[str]]:
    """What a JSON file lists for each class. Raises InputError."""
    try:
        return {name: [str(picture) for picture in pictures] for name, pictures in parse_json(read_text(path)).items()}
    except (ValueError, AttributeError, TypeError) as error:
        raise InputError(f"{path} is no list of pictures by class ({error}).", AGAIN) from error


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
    return InputError(f"{path} is damaged: it has a line that names no class, {visible(line, 80)!r}.", AGAIN)
