"""Errors whose text is meant for the person at the screen.

Every message is one clear sentence: which field or file, what is wrong, what to do.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

LOST_PICTURES = (
    "cache of decoded images: cut short, or on a disk that is full, failing or gone. Resume with --set loader.cache=off, or "
    "with loader.cache_folder on another disk."
)
"""What to do when a file that was mapped into memory could not be read any more, which no program survives (SIGBUS)."""


def pluralize(number: int, noun: str) -> str:
    """``number`` with its noun: "1 file", "7 files", "1,234 steps"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def format_bytes(size: float) -> str:
    """``5.2 GB``"""
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB" if size < 999.5 else f"{size:.0f} TB"


def format_number(value: float, digits: int = 4) -> str:
    """Four significant digits, thousands apart where there are more figures; scientific where plain figures would hide the size."""
    if not math.isfinite(value):
        return {math.inf: "∞", -math.inf: "−∞"}.get(value, "NaN")
    if value == 0.0:
        return "0"
    rounded = float(f"{value:.{digits}g}")
    if 10**digits <= abs(rounded) <= 1e6:
        return f"{rounded:,.0f}"
    if 1e-3 <= abs(value) < 1e6:
        return f"{value:.{digits}g}"
    return f"{value:.{max(digits - 2, 1)}e}".replace("e-0", "e-").replace("e+0", "e+").replace("e+", "e")


def format_percent(value: float) -> str:
    """In percent, with one decimal: of single samples and classes."""
    return f"{value:.1%}"


def format_moment(seconds: Any) -> str:
    """Seconds since 1970 as a person reads them here."""
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(float(seconds or 0.0)))
    except (TypeError, ValueError, OverflowError, OSError):  # a file that somebody else wrote
        return "at no possible time"


def format_duration(seconds: float) -> str:
    """ "42 s", "3 min 20 s", "2 h 05 min", "3 d 4 h"."""
    whole = round(max(seconds, 0.0))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def list_first(names: Sequence[str], count: int) -> str:
    """ "cat, dog and 3 more": the first of ``count`` names."""
    more = count - len(names)
    return ", ".join(names) + (f" and {more:,} more" if more > 0 else "")


def join_choices(words: Sequence[str]) -> str:
    """ "1, 2 or 4": one of ``words``, of which there is at least one."""
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def join_sentences(sentences: Sequence[str]) -> str:
    """``sentences`` as one: only the last keeps its full stop."""
    return "; ".join([*(each.removesuffix(".") for each in sentences[:-1]), *sentences[-1:]])


def end_sentence(text: str) -> str:
    """``text`` with a full stop, where it ends without a mark: others may follow."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def describe_error(error: BaseException) -> str:
    """The error as Python tells it, as a sentence that others may follow."""
    return end_sentence(" ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":"))  # many say nothing more


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a configuration: ``path`` is the dotted field ("optimizer.lr"), "" when it is the whole. ``fix``
    is a way out as dotted settings and their values, empty where there is not one that is likely meant."""

    path: str
    message: str
    fix: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class TrainingError(Exception):
    """A failure explained to the user. ``advice`` says what to do about it, ``fix`` the same as dotted settings and
    their values ({"loop.batch_size": 32}), empty where no setting helps; ``exit_code`` is the command line's."""

    exit_code = 1

    def __init__(self, message: str, advice: str = "", fix: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice
        self.fix = dict(fix or {})

    def __str__(self) -> str:
        return f"{self.message} {self.advice}".strip()


class InputError(TrainingError):
    """Something the user gave (config, file, folder, argument) cannot be used; nothing was started."""

    exit_code = 2


class Canceled(TrainingError):
    """The person who asked for it did not want it any more, which is no failure."""

    exit_code = 130


class NonFiniteError(InputError):
    """The data holds a number that is missing where none may be, infinite, or too large for float32."""


class LabelRangeError(InputError):
    """A class, label or mask value that no training sample has, or that there cannot be."""


class TooLargeError(InputError):
    """A model that the memory there is cannot hold while it is trained, whatever the batches."""


class ConfigError(InputError):
    """A configuration that cannot run; ``problems`` lists every fault found, in the order of the file."""

    def __init__(self, problems: Sequence[Problem], source: str = "") -> None:
        self.problems = tuple(problems)
        text = join_sentences([str(problem) for problem in self.problems])
        super().__init__(f"{source}: {text}" if source else text)


class CheckpointError(InputError):
    """A checkpoint that is incomplete, damaged or of another kind; it was not loaded."""


class NotYetError(InputError):
    """A run does not begin yet: something is to be done first. One that was made for later stays as it was made."""

    exit_code = 76


class RunBusyError(InputError):
    """The run is already being worked on by another live process."""
