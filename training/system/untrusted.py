"""Files that somebody else may have written: ordinary ones only, up to a size, and told without obeying them."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

MEGABYTE = 10**6
_MOST_SHOWN = 2000
_MOST_LEVELS = 64
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")

_BLANK = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
"""Letters and marks, printable to Python, that are drawn as nothing; some may even stand in a name."""


class UnfitFile(OSError):
    """Not an ordinary file, or larger than anything of its kind; ``strerror`` says which."""


def open_file(path: Path, most: int) -> BinaryIO:
    """Open the ordinary file ``path`` of at most ``most`` bytes for reading.

    Raises UnfitFile, having read nothing, for a larger one and for a pipe, a device or a folder: those could block for
    ever or never end. Raises other OSErrors as ``open`` does.
    """
    # A pipe that nobody writes would block in open itself; ordinary files know no such waiting.
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except ValueError as error:  # a zero byte in the name
        raise UnfitFile(errno.EINVAL, "is no possible name of a file", str(path)) from error
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, "is a folder", str(path))
        if not stat.S_ISREG(status.st_mode):
            raise UnfitFile(errno.EINVAL, "is not an ordinary file", str(path))
        if status.st_size > most:
            raise UnfitFile(errno.EFBIG, f"is larger than {most / MEGABYTE:,.0f} MB", str(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_bytes(path: Path, most: int) -> bytes:
    """The content of the ordinary file ``path``; raises as ``open_file`` does."""
    with open_file(path, most) as stream:
        parts, size = [], 0
        while part := stream.read(MEGABYTE):  # in pieces: Python takes memory for all that is asked for at once
            parts.append(part)
            size += len(part)
            if size > most:  # it may grow while it is read
                raise UnfitFile(errno.EFBIG, f"is larger than {most / MEGABYTE:,.0f} MB", str(path))
    return b"".join(parts)


def parse_json(text: bytes | str) -> Any:
    """``json.loads`` with every fault as a ValueError, also of what is nested deeper than anything of ours."""
    try:
        data = json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if any(islice(iterate_levels(data), _MOST_LEVELS - 1, None)):  # who visits or writes it again may run out of stack
        raise ValueError("nested too deeply")
    return data


def iterate_levels(data: Any) -> Iterator[list[Any]]:
    """What dicts and lists hold, level by level, without recursion: what ``data`` holds, what that holds, to the deepest."""
    level = [data]
    while level := [
        inner
        for outer in level
        if isinstance(outer, dict | list)
        for inner in (outer.values() if isinstance(outer, dict) else outer)
    ]:
        yield level


def escape_unprintable(text: str, most: int = _MOST_SHOWN) -> str:
    """``text`` for a terminal, in one line of at most ``most`` characters: what would move the cursor, turn the direction
    of writing or cannot be encoded is shown as its escape instead of being obeyed."""
    cut = text if len(text) <= most else f"{text[: most - 3]}..."
    return _UNSEEN.sub(lambda found: repr(found[0])[1:-1], cut)


def visible_code(text: str) -> tuple[str, int]:
    """A program for somebody who is to judge it: with its lines as Python counts them, each character that cannot be seen, or
    turns the direction of others, as its escape; and how many those were."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    shown = [character if _is_seen(character) else ascii(character)[1:-1] for character in lines]
    return "".join(shown), sum(len(character) > 1 for character in shown)


def _is_seen(character: str) -> bool:
    return character in "\t\n" or (character.isprintable() and _BLANK.match(character) is None)


def visible_lines(text: str, most: int = 1000) -> str:
    """``escape_unprintable`` for a text of several lines, which stay lines."""
    return "\n".join(escape_unprintable(line) for line in text.split("\n")[:most])
