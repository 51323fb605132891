"""The text of configuration files, and TOML of unknown origin, without the classes of the settings: a file that cannot be
read is told before they are loaded."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from datetime import date, time
from pathlib import Path
from typing import TypeAlias

from training.embedded_config import is_report, read_embedded
from training.errors import InputError
from training.system.untrusted import MEGABYTE, escape_unprintable, iterate_levels, read_bytes

_MOST_BYTES = MEGABYTE
_MOST_WORK = 20_000  # the squares of the dots in each line: one of 140, or thousands of two or three
_MOST_LEVELS = 16  # of tables and lists inside each other
_MOST_BITS = 1024  # of a whole number; Python itself refuses to print those of more than 4300 digits


Toml: TypeAlias = "bool | int | float | str | date | time | Sequence[Toml] | Mapping[str, Toml] | None"
"""A value of a TOML or JSON file; None is JSON's alone."""


def read_config_text(path: Path) -> str:
    """The text of a configuration file, or of the configuration in a report; raises InputError when it cannot be read as one."""
    source = escape_unprintable(str(path))
    try:
        if is_report(path):
            return read_embedded(path).text
        text = read_bytes(path, _MOST_BYTES).decode("utf-8-sig")  # some editors put a byte order mark first
    except FileNotFoundError:
        raise InputError(f"{source}: no such file; check the spelling.") from None
    except IsADirectoryError:
        raise InputError(f"{source}: is a folder and cannot be read; choose the TOML file in it.") from None
    except OSError as error:
        raise InputError(f"{source}: cannot be read ({error.strerror or error}); check the file.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{source}: cannot be read as text ({error}); save it as UTF-8.") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_toml(text: str, source: str) -> dict[str, Toml]:
    """Parse TOML; raises InputError naming ``source`` and the place of the fault."""
    try:
        return parse_toml(text)
    except ValueError as error:
        raise InputError(
            f"{source}: not valid TOML: {escape_unprintable(str(error), 300)}.", _advice(str(error))
        ) from error
    except RecursionError as error:
        raise InputError(f"{source}: nested too deeply to be a configuration.") from error


def read_table(tree: Mapping[str, Toml], name: str) -> dict[str, Toml]:
    """The table ``name`` of ``tree``, copied; empty where another thing stands there, or nothing."""
    table = tree.get(name)
    return dict(table) if isinstance(table, Mapping) else {}


def parse_toml(text: str) -> dict[str, Toml]:
    """``tomllib.loads``; raises ValueError, or RecursionError for what nests deeper than any configuration."""
    if sum(line.count(".") ** 2 for line in text.split("\n")) > _MOST_WORK:
        raise RecursionError  # told before it is parsed: tomllib's work grows with the square of a key's parts
    data = tomllib.loads(text)
    for depth, level in enumerate(iterate_levels(data), start=1):
        if any(isinstance(value, int) and value.bit_length() > _MOST_BITS for value in level):
            raise ValueError("a whole number has hundreds of digits")
        if depth == _MOST_LEVELS:  # dotted keys nest without recursion, but who prints the value afterwards recurses
            raise RecursionError
    return data


_ADVICE = (
    ("Illegal character '\\n'", "Is the closing quote missing?"),
    ("Unterminated string", "Is the closing quote missing?"),
    ('Expected "\'"', "Is the closing quote missing?"),
    ("Unescaped", "Write text with a backslash in single quotes: 'C:\\images'."),
    ("Expected ']'", "Is the closing bracket missing?"),
    ("Unclosed", "Is the closing bracket missing?"),
    ("Invalid value", "Put text into quotes; true, false and numbers go without, in small letters."),
    ("Expected '='", "Write name = value."),
    ("after a statement", "Write one setting to a line, and text in quotes."),
    ("Cannot", "Is it there twice? Leave one of them out."),
)
"""What to do, by a part of what tomllib says."""


def _advice(fault: str) -> str:
    return next((advice for part, advice in _ADVICE if part in fault), "Mend that place.")
