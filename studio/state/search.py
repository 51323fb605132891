"""Words looked for in titles: what fits, and how well. The palette's, that of the settings, and of all lists that words filter."""

from __future__ import annotations

from collections.abc import Sequence

from training.config.field_spec import FieldSpec


def split_query(query: str) -> list[str]:
    """The words looked for, in lower case."""
    return query.casefold().split()


def holds(text: str, words: Sequence[str]) -> bool:
    """Whether all of these words, in lower case, occur in a text."""
    lowered = text.casefold()
    return all(word in lowered for word in words)


def rank_title(title: str, words: Sequence[str], typed: str) -> int:
    """How well ``title``, in lower case, fits ``words``, which are ``typed`` with spaces between them: 0 where it begins with them, 1
    where each begins a word of it, 2 where it holds them as they were typed, 3 otherwise."""
    if title.startswith(typed):
        return 0
    if all(title.startswith(word) or f" {word}" in title for word in words):
        return 1
    return 2 if typed in title else 3


def describe_setting(spec: FieldSpec) -> str:
    """What else than its title a setting is found by."""
    return " ".join([spec.help, spec.unit, spec.group, *spec.choices, *map(spec.label, spec.choices), spec.also])
