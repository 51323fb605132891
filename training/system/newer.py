"""What is said of files that a newer version of the program wrote: which version, and what to do."""

from __future__ import annotations

import re
from typing import Final

from training import __version__
from training.system.untrusted import escape_unprintable

UPDATE: Final = "Update Trainwright."


def is_newer(version: object) -> bool:
    """Whether ``version``, as a file tells it, is that of a newer Trainwright."""
    return isinstance(version, str) and number_of(version) > number_of(__version__)


def is_later_format(given: object, known: int) -> bool:
    """Whether ``given``, the format that a file tells, is one that only a newer Trainwright reads."""
    return type(given) is int and given > known


def explain_format(source: object, given: object, known: int, version: object = None) -> str:
    """Of a file, or a folder, in a format that this version does not read; ``version`` is who wrote it, where it tells that."""
    who = f"Trainwright {_show(version, 40)}" if is_newer(version) else "a newer Trainwright"
    return f"{_show(source, 300)}: was written by {who}, in format {_show(given, 60)}; this one reads {known}."


def explain_version(source: object, version: str) -> str:
    """Of what a newer version made, which cannot be understood here."""
    return f"{_show(source, 300)}: was made by Trainwright {_show(version, 40)}, and this is {__version__}."


def _show(what: object, most: int) -> str:
    return escape_unprintable(str(what), most)


def number_of(version: str) -> tuple[int, ...]:
    """Its first three numbers, by which versions are compared."""
    return tuple(int(part) for part in re.findall(r"[0-9]{1,9}", version)[:3])
