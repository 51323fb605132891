"""Values and settings as the script of a run writes them."""

from __future__ import annotations

import re
import textwrap
from typing import NamedTuple

from training.config.fields import Section
from training.system.untrusted import escape_unprintable

_WIDTH = 100
ONE_LINE = 1 << 20


class Setting(NamedTuple):
    """What a script names in capitals; a value that is a text stands there as it is."""

    comment: str
    name: str
    value: object


def code(value: object) -> str:
    """A value as Python source, with the double quotes of the rest of the script."""
    text = repr(value)
    if isinstance(value, str) and text.startswith("'") and '"' not in text:
        return f'"{text[1:-1]}"'
    return text


def call(name: str, arguments: list[str], width: int = _WIDTH) -> str:
    """In one line where that fits."""
    line = f"{name}({', '.join(arguments)})"
    if len(line) <= width and "\n" not in line:
        return line
    return f"{name}(\n" + "".join(textwrap.indent(each, "    ") + ",\n" for each in arguments) + ")"


def keywords(**arguments: object) -> list[str]:
    return [f"{name}={code(value)}" for name, value in arguments.items()]


def setting(section: Section, name: str) -> Setting:
    text = type(section).model_fields[name].description or ""
    value = getattr(section, name)
    # What an empty field would mean is the form's business; here there is a value.
    comment = re.sub(r" (0 or empty|Empty):.*", "", text)
    return Setting(comment, name.upper(), code(value) if isinstance(value, str) else value)


def prose(text: str) -> str:
    """``text`` as it may stand inside the script's docstring: nothing in it can end that and become code, which would run
    as soon as the script is compared with the engine. A name may come from a stranger's file."""
    return escape_unprintable(text, 300).replace("\\", "/").replace('"', "'")
