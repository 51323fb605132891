"""A filter's text in pieces, each with its place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from training.errors import InputError
from training.system.untrusted import escape_unprintable

LONGEST = 2000
"""Characters of a filter."""
_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0, "%": 0.01, "": 1.0}
_TOKEN = re.compile(
    r"""(?P<blank>\s+)
    |(?P<number>[+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?P<unit>%|(?:min|[shdw])(?![\w/.]))?(?![\w/.]))
    |(?P<text>"[^"]*"|'[^']*')
    |(?P<name>`[^`]+`|[^\W\d][\w./]*)
    |(?P<sign><=|>=|==|!=|<>|[<>=(),])
    """,
    re.VERBOSE,
)
_WORDS = frozenset({"and", "or", "not", "in", "true", "false"})
Kind = Literal["number", "text", "name", "word", "sign", "end"]


class FilterError(InputError):
    """A filter that cannot be read. ``start`` and ``end`` are the place in its text, counted from 0."""

    def __init__(self, why: str, text: str, start: int, end: int) -> None:
        self.start, self.end = start, end
        shown = escape_unprintable(text[start:end], 40)
        place = f"at character {start + 1}, {shown}" if shown else "at its end"
        super().__init__(f"The filter, {place}: {why}")


@dataclass(frozen=True)
class Token:
    """A piece of a filter. ``value`` is its number, its text without quotes, or its name or word as it is understood."""

    kind: Kind
    value: float | str
    start: int
    end: int


def split(text: str) -> list[Token]:
    """The pieces of ``text``, and one for its end. Raises FilterError."""
    found: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise FilterError(_explain(text, at), text, at, at + 1)
        if match.lastgroup != "blank":
            found.append(_read(match))
        at = match.end()
    return [*found, Token("end", "", len(text), len(text))]


def _explain(text: str, at: int) -> str:
    if text[at] in "\"'":
        return "the quotation mark is not closed."
    if text[at] == "`":
        return "the ` before a name is not closed."
    if text[at].isdigit() or text[at] in "+-.":
        return "this is no number; a text stands in quotation marks."
    return "this character has no meaning here; a text stands in quotation marks."


def _read(match: re.Match[str]) -> Token:
    start, end, piece = match.start(), match.end(), match[0]
    if match["number"]:
        unit = match["unit"] or ""
        return Token("number", float(piece.removesuffix(unit)) * _SECONDS[unit], start, end)
    if match["text"]:
        return Token("text", piece[1:-1], start, end)
    if match["sign"]:
        return Token("sign", {"=": "==", "<>": "!="}.get(piece, piece), start, end)
    if piece.lower() in _WORDS:
        return Token("word", piece.lower(), start, end)
    return Token("name", piece.strip("`"), start, end)
