"""What a form says about values and faults. No Qt."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from studio.state.drafts.setting_specs import RUN, kinds, specs
from studio.state.formats import kind_title
from studio.widgets import format_number
from training import catalog
from training.config import RunConfig
from training.config.diff import Change
from training.config.field_spec import FieldSpec
from training.config.run import SECTIONS
from training.errors import Problem

KIND_TITLES = {
    "dataset": "Dataset type",
    "model": "Architecture",
    "objective": "Task",
    "optimizer": "Optimizer",
    "schedule": "LR scheduler",
}


_OVERRIDE = re.compile(r"(?<![\w./-])([a-z]+\.[a-z_0-9]+)=([^\s,;:()]+?)(?=[,;:()]|\.?(?:\s|$))")

KindOf = Callable[[str], str]
"""What is chosen in a section: ``Draft.kind``."""


def kinds_of(config: RunConfig) -> KindOf:
    """What is chosen in a section of ``config``."""
    return lambda section: str(getattr(getattr(config, section), "kind", ""))


def as_sentence(message: str, kind_of: KindOf | None = None) -> str:
    """A problem's message as a sentence of its own: it stands under the field, so the field's name is not repeated."""
    message = with_titles(message, kind_of)
    return message[:1].upper() + message[1:]


def as_full_sentence(message: str, kind_of: KindOf | None = None) -> str:
    """The same with its full stop: it stands among others."""
    return f"{as_sentence(message.rstrip('.'), kind_of)}."


def with_titles(message: str, kind_of: KindOf | None = None) -> str:
    """``message`` with settings called as the forms call them: files name them by dotted keys, ``dataset.task``. What is to be
    typed on the command line stays as it is, but a hint for people there is left out. ``kind_of`` tells titles apart that each
    kind has of its own."""

    def title(found: re.Match[str]) -> str:
        key, verb, choice = found.groups()
        section, _, name = key.partition(".")
        if name == "kind" and section in KIND_TITLES:
            return KIND_TITLES[section] + (f"{verb}{kind_title(section, choice)}" if choice else "")
        by_kind = _settings().get(key, {})
        if len({spec.title for spec in by_kind.values()}) == 1:
            chosen = next(iter(by_kind.values()))
        elif not (kind_of and by_kind) or (kind := kind_of(section)) not in by_kind:
            return found[0]
        else:
            chosen = by_kind[kind]
        return chosen.title + (f"{verb}{format_value(choice, chosen)}" if choice else "")

    message = re.sub(r" \(on the command line: [^)]*\)", "", message)
    return re.sub(r"(?<![\w./])(?<!--set )([a-z]+\.[a-z_]+)(?![\w/=])(?:( to | is )(\w+))?", title, message)


@cache
def _settings() -> Mapping[str, Mapping[str, FieldSpec]]:
    """The settings by dotted key and the kind of their section."""
    found: dict[str, dict[str, FieldSpec]] = {}
    for section in SECTIONS:
        for kind in kinds(section) or ("",):
            for spec in specs(section, kind).values():
                found.setdefault(f"{section}.{spec.name}", {})[kind] = spec
    return found


def kind_sentence(section: str, message: str) -> str:
    """The same about a kind: files call kinds by their names, people by their titles."""
    own = {entry.kind: entry.title for entry in catalog.entries(section)}
    data = {entry.kind for entry in catalog.entries("dataset")}
    facts, choose, advice = message.partition("; choose ")
    facts = re.sub(r"^\w+", lambda word: own.get(word[0], word[0]), facts)
    facts = re.sub(
        r"(?<=but )\w+", lambda word: "the data" if word[0] in data else word[0], facts
    )  # which stands above
    advice = re.sub(r"\w+", lambda word: own.get(word[0], word[0]), advice)
    return as_sentence(facts + choose + advice)


def with_title(title: str, message: str) -> str:
    """A problem's message where the field cannot be seen."""
    if not title:
        return as_sentence(message)
    first = message.partition(" ")[0]
    return f"{title}: {message if first[1:].lower() != first[1:] else message[:1].lower() + message[1:]}"  # U-Net, GPT


def title_of(change: Change, kind_of: KindOf) -> str:
    """What the forms call the setting that changed; ``kind_of`` says the kinds after the change."""
    section, _, name = change.path.rpartition(".")
    if name == "kind":
        return KIND_TITLES[section]
    spec = _spec_of(change, kind_of)
    return spec.title if spec else change.path


def tell_value(change: Change, kind_of: KindOf, value: Any) -> str:
    """``value`` of the setting that changed, as its form shows it."""
    section, _, name = change.path.rpartition(".")
    if name == "kind":
        return kind_title(section, str(value))
    spec = _spec_of(change, kind_of)
    return format_value(value, spec) if spec else str(value)


def tell_change(change: Change, kind_of: KindOf) -> str:
    """``Learning rate: 0.001 → 0.003``; without the old value where another kind brings the setting."""
    old, new = (tell_value(change, kind_of, value) for value in (change.old, change.new))
    came = change.old is None and (spec := _spec_of(change, kind_of)) is not None and not spec.optional
    return f"{title_of(change, kind_of)}: {new if came else f'{old} → {new}'}"


def tell_overrides(text: str, kind_of: KindOf) -> str:
    """``text`` with what the command line sets as the forms say it: ``optimizer.lr=0.01`` as "Learning rate = 0.01"."""

    def say(found: re.Match[str]) -> str:
        path, written = found.groups()
        value = read_value(written)
        change = Change(path, value, value)
        return f"{title_of(change, kind_of)} = {tell_value(change, kind_of, value)}"

    return _OVERRIDE.sub(say, text)


def read_value(written: str) -> Any:
    """What JSON makes of it: what is none is a word."""
    try:
        return json.loads(written)
    except ValueError:
        return written


def _spec_of(change: Change, kind_of: KindOf) -> FieldSpec | None:
    section = change.path.rpartition(".")[0]
    if section not in SECTIONS:
        return specs(RUN).get(change.path)
    by_kind = _settings().get(change.path, {})
    return by_kind.get(kind_of(section)) or next(iter(by_kind.values()), None)


def problem_sentence(problem: Problem, spec: FieldSpec, value: Any) -> str:
    """What stands under the field. An empty path needs other words than the general rule has for text."""
    if spec.path and value == "":
        return f"Choose a {'file or folder' if spec.path == 'any' else spec.path}."
    if spec.editor not in ("int", "float", "numbers", "durations"):
        return as_sentence(problem.message)
    message = re.sub(r"(?<![\w.])(-?\d+)\.0(?!\d)", r"\1", problem.message)  # 1.0 as the form writes it: 1
    position = problem.path.split(".")[2:]
    if position and position[0].isdigit():
        return f"Number {int(position[0]) + 1} {message}"
    return as_sentence(message)


def format_value(value: Any, spec: FieldSpec) -> str:
    """A value as the form would show it, for tool tips."""
    if value is None or value == "":
        return spec.placeholder or "nothing"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, list):
        return ", ".join(format_value(item, spec) for item in value) or spec.placeholder or "nothing"
    if value in spec.choices:
        return spec.label(value)
    if spec.consent:
        return tell_digest(str(value))
    return format_number(value) if isinstance(value, int | float) else str(value)


def tell_digest(digest: str) -> str:
    """The letters of it that tell files apart at a glance."""
    return digest[:12]


def describe_range(spec: FieldSpec) -> str:
    """The bounds in words, for the explanation; "" when there are none worth naming."""
    if spec.editor not in ("int", "float"):
        return ""
    low, high = spec.minimum, spec.maximum
    if high is not None and high >= 1e5:
        high = None  # a bound that only keeps out nonsense (a million, 2^31) says nothing a person needs
    parts = []
    if low is not None:
        parts.append(f"{'above' if spec.exclusive_minimum else 'at least'} {format_number(low)}")
    if high is not None:
        parts.append(f"{'below' if spec.exclusive_maximum else 'at most'} {format_number(high)}")
    return f"Allowed: {' and '.join(parts)}." if parts else ""
