"""The words of a command line, and what is said of those that cannot be meant."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from training.errors import InputError
from training.system.untrusted import escape_unprintable

_SHOWN = 60


class Parser(argparse.ArgumentParser):
    """argparse's, but what is wrong is an InputError: one sentence, and where to read more."""

    def error(self, message: str) -> NoReturn:
        message = escape_unprintable(message.removeprefix("argument "), 300)
        raise InputError(f"{message[:1].upper()}{message[1:]}.", self.advice)

    @property
    def advice(self) -> str:
        """How to see what may be given."""
        return f"See {self.prog} --help."


def parse_words(parser: Parser, commands: Mapping[str, Parser], words: Sequence[str]) -> argparse.Namespace:
    """What ``words`` ask for; raises InputError. ``commands`` are the parser's by their names."""
    listed = f"there are {', '.join(name for name in commands if name not in HIDDEN)}."
    first = words[0] if words else ""
    if not words or (first.startswith("-") and first not in ("-h", "--help")):
        raise InputError(f"A command is missing; {listed}", parser.advice)
    if not first.startswith("-") and first not in commands:
        hint = _did_you_mean(first, commands) or listed
        raise InputError(f"There is no command {_quote(first)}; {hint}", parser.advice)
    arguments, rest = parser.parse_known_args(words)
    if rest:
        what = "has no option" if rest[0].startswith("-") else "does not take"
        command = commands.get(first, parser)
        raise InputError(f"{command.prog} {what} {_quote(rest[0].partition('=')[0])}.", command.advice)
    return arguments


HIDDEN = ("serve",)
"""Commands that are not for people."""


def _did_you_mean(word: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(word, [name for name in known if name not in HIDDEN], n=1, cutoff=0.5)
    return f"did you mean {near[0]}?" if near else ""


def _quote(word: str) -> str:
    return escape_unprintable(repr(word), _SHOWN)
