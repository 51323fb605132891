"""What a filter means: conditions on the values of a run, each true or false and never neither. A comparison with something
that the run has not, or of a number with a text, is false. Texts are compared in whatever case."""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from training.runs.query.names import Name

_HUGE = 1e308
Value = float | str | bool | tuple[str, ...] | None
"""Of a run by a name: a number, a text, yes or no, its tags; None for what it has not."""
Values = Mapping[str, Value]
Test = Callable[[Values], bool]
SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}
SEARCHED = ("name", "run", "dataset", "model", "notes")
"""The texts that a word is looked for in, and the tags."""
SEARCH = "search"
"""What may stand for all of them among the values of a run."""


@dataclass(frozen=True)
class Compare:
    """``left sign right``; a literal is a number or a text."""

    left: Name
    sign: str
    right: Name | float | str


@dataclass(frozen=True)
class Contains:
    """Whether ``text`` occurs in the value; of tags, whether it is one of them."""

    name: Name
    text: str


@dataclass(frozen=True)
class Has:
    """A name alone: whether that is so."""

    name: Name


@dataclass(frozen=True)
class Find:
    """Whether a word occurs in what the run is called, what it is about and what is said of it."""

    word: str


@dataclass(frozen=True)
class Not:
    """The opposite."""

    inner: Condition


@dataclass(frozen=True)
class All:
    """Each of them."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True)
class Any_:
    """One of them, or more."""

    parts: tuple[Condition, ...]


Condition = Compare | Contains | Has | Find | Not | All | Any_


def plain(value: object) -> float | str | None:
    """A setting or a measured value as filters compare it: a number, or a text; None for none, and for what is no finite number."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return float(value) if -_HUGE < value < _HUGE else None
    if isinstance(value, list | tuple):
        return ", ".join("" if item is None else str(item) for item in value)
    return None if value is None or value == "" else str(value)


def fold(text: str) -> str:
    """``text`` as it is compared: what PostgreSQL's ``lower`` makes of it, too."""
    return text.lower()


def make_test(condition: Condition) -> Test:
    """``condition`` as a function of a run's values, made once for thousands of runs."""
    return _MAKERS[type(condition)](condition)


def _make_compare(condition: Compare) -> Test:
    key, sign, other = condition.left.key, condition.sign, condition.right
    compare = SIGNS[sign]
    if condition.left.form == "tags":
        wanted, opposite = fold(str(other)), sign == "!="
        return lambda values: (wanted in _tags(values)) is not opposite
    if isinstance(other, Name):
        second = other.key

        def test_both(values: Values) -> bool:
            left, right = _read(values, key), _read(values, second)
            same = left is not None and right is not None and isinstance(left, str) is isinstance(right, str)
            return same and compare(left, right)

        return test_both
    if isinstance(other, str):
        text = fold(other)
        return lambda values: isinstance(found := _read(values, key), str) and compare(found, text)
    return lambda values: isinstance(found := _read(values, key), float) and compare(found, other)


def _make_contains(condition: Contains) -> Test:
    key, text = condition.name.key, fold(condition.text)
    if condition.name.form == "tags":
        return lambda values: text in _tags(values)
    return lambda values: isinstance(found := _read(values, key), str) and text in found


def _make_has(condition: Has) -> Test:
    key = condition.name.key
    return lambda values: _read(values, key) == "true"


def _make_find(condition: Find) -> Test:
    word = fold(condition.word)

    def test(values: Values) -> bool:
        known = values.get(SEARCH)  # all of it in one text, and in lower case
        if isinstance(known, str):
            return word in known
        texts = (found for key in SEARCHED if isinstance(found := _read(values, key), str))
        return any(word in text for text in (*texts, *_tags(values)))

    return test


def _make_not(condition: Not) -> Test:
    inner = make_test(condition.inner)
    return lambda values: not inner(values)


def _make_all(condition: All) -> Test:
    parts = [make_test(part) for part in condition.parts]

    def test(values: Values) -> bool:
        for part in parts:  # noqa: SIM110 - half as long as all() of a generator, ten thousand times
            if not part(values):
                return False
        return True

    return test


def _make_any(condition: Any_) -> Test:
    parts = [make_test(part) for part in condition.parts]
    return lambda values: any(part(values) for part in parts)


_MAKERS: dict[type, Callable[[Any], Test]] = {
    Compare: _make_compare,
    Contains: _make_contains,
    Has: _make_has,
    Find: _make_find,
    Not: _make_not,
    All: _make_all,
    Any_: _make_any,
}


def _read(values: Values, key: str) -> float | str | None:
    known = values.get(key)
    if known.__class__ is float and -_HUGE < known < _HUGE:
        return known
    if known.__class__ is str:
        return known.lower() or None
    if key == "age":
        created = values.get("created")
        return time.time() - created if isinstance(created, int | float) else None
    found = plain(values.get(key))
    return fold(found) if isinstance(found, str) else found


def _tags(values: Values) -> tuple[str, ...]:
    tags = values.get("tags")
    return tuple(fold(tag) for tag in tags) if isinstance(tags, tuple) else ()


def names_in(condition: Condition) -> set[str]:
    """The keys of all values that decide it."""
    if isinstance(condition, Not):
        return names_in(condition.inner)
    if isinstance(condition, All | Any_):
        return set().union(*map(names_in, condition.parts))
    if isinstance(condition, Find):
        return {SEARCH}
    if isinstance(condition, Compare):
        names = [condition.left, condition.right] if isinstance(condition.right, Name) else [condition.left]
        return {"created" if name.key == "age" else name.key for name in names}
    return {condition.name.key}
