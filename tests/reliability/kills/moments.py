"""The moments at which a run is killed, by class; which of a class's many is drawn from the harness's seed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from random import Random
from typing import Any

START_UP, TRAINING, VALIDATION, WRITE, REGISTRATION, RETENTION, SERIES, REPLACEMENT, RESUME, END, ANYWHERE = KINDS = (
    "start-up",
    "training",
    "validation",
    "checkpoint write",
    "registration",
    "retention",
    "series flush",
    "file replacement",
    "resume",
    "end",
    "anywhere",
)

NEVER = 10**9  # more rows than any series has
BOTH = ("before", "after")
WRITING = ("before", "half", "after")
_TEMPORARY = r"/\.writing-step-[^/]*"
_FILES = rf"{_TEMPORARY}/(ema\.safetensors|model\.safetensors|state\.pt|manifest\.json)$"


@dataclass(frozen=True)
class Trigger:
    """The engine kills itself ``when`` ("before", "half" of the bytes, "after") the ``count``-th ``operation`` whose
    subject (a path; "old -> new" for a rename; path and line for an event) has ``pattern`` in it, counted from the moment
    the series holds ``rows`` rows; ``delay`` seconds after it, where ``when`` is "after". If that does not come before the
    series holds ``latest`` rows, it dies there, so that a run has room for many kills."""

    operation: str
    pattern: str
    when: str
    count: int = 1
    rows: int = 0
    latest: int = NEVER
    delay: float = 0.0
    share: float = 0.5

    def record(self) -> dict[str, Any]:
        """For the engine's environment."""
        return asdict(self)


@dataclass(frozen=True)
class FromOutside:
    """The harness kills the engine ``delay`` seconds after the series has ``rows`` rows; after the start, if None. In any
    case once it has ``latest`` rows."""

    rows: int | None
    delay: float
    latest: int = NEVER


@dataclass(frozen=True)
class _Choice:
    operation: str
    pattern: str
    whens: tuple[str, ...] = BOTH
    most: int = 1  # the count is drawn from 1 to this
    delay: float = 0.0  # the delay is drawn from 0 to this


def _event(words: str, whens: tuple[str, ...] = WRITING, delay: float = 0.0) -> _Choice:
    return _Choice("write", rf"/events\.jsonl .*{words}", whens, delay=delay)


def _replaced(name: str, most: int = 1) -> list[_Choice]:
    """A small file written beside its place and renamed into it."""
    beside = rf"/\.{name}\.[^/]*$"
    return [
        _Choice("open", beside, most=most),
        _Choice("write", beside, WRITING, most),
        _Choice("rename", rf"-> .*/{name}$", most=most),
    ]


_CHOICES: dict[str, list[_Choice]] = {
    START_UP: [
        _Choice("mkdir", "/checkpoints$"),
        *_replaced(r"config\.toml"),
        *_replaced(r"status\.json", 2),
        *_replaced(r"owner\.json"),
        *_replaced(r"data\.json"),
        *_replaced(r"splits\.safetensors"),
        *_replaced(r"environment\.json"),
        _Choice("open", r"/series\.bin$"),
        _Choice("write", r"/series\.bin$", WRITING, 2),
        _event('"attempt_started"'),
        _Choice("mkdir", _TEMPORARY, ("before",)),
    ],
    VALIDATION: [
        _event('"validating"', ("after",), delay=0.01),
        _event('"validating"'),
        _event('"validated"'),
        _event('"epoch_ended"'),
    ],
    WRITE: [
        _Choice("mkdir", _TEMPORARY, ("after",), delay=0.02),
        _Choice("mkdir", _TEMPORARY),
        _Choice("open", _FILES, BOTH, 4),
        _Choice("write", _FILES, WRITING, 6),
        _Choice("fsync", _FILES, BOTH, 4),
        _Choice("fsync", rf"{_TEMPORARY}$"),
        _Choice("rename", rf"{_TEMPORARY} -> ", ("before",)),
    ],
    REGISTRATION: [
        _Choice("rename", rf"{_TEMPORARY} -> .*/step-[0-9]+$", ("after",)),
        _Choice("fsync", "/checkpoints$"),
        *_replaced(r"labels\.json"),
        _Choice("fsync", r"/\.labels\.json\."),
        _event('"checkpoint_saved"'),
    ],
    RETENTION: [
        _Choice("rename", r"/step-[0-9]+ -> .*/\.writing-old-"),
        _Choice("remove", r"/\.writing-old-[^/]*/", BOTH, 4),
        _Choice("rmdir", r"/\.writing-old-[^/]*$"),
    ],
    SERIES: [
        _Choice("write", r"/series\.bin$", WRITING, 3),
        _Choice("fsync", r"/series\.bin$"),
        _Choice("write", r"/telemetry\.bin$", WRITING, 2),
    ],
    REPLACEMENT: [
        *_replaced(r"status\.json", 3),
        *_replaced(r"labels\.json"),
        _Choice("write", rf"{_TEMPORARY}/manifest\.json$", WRITING),
        _Choice("fsync", rf"{_TEMPORARY}/manifest\.json$"),
    ],
    RESUME: [
        *_replaced(r"owner\.json"),
        *_replaced(r"status\.json", 2),
        _Choice("truncate", r"/series\.bin$"),
        _event('"attempt_started"'),
        _event('"data_prepared"'),
        *_replaced(r"labels\.json"),
        _Choice("write", r"/series\.bin$", WRITING),
    ],
    END: [
        *_replaced(r"status\.json", 2),
        _event('"saving"'),
        _event('"saving"', ("after",), delay=0.05),  # the test part is measured then, where there is one
        _event('"completed"'),
        _Choice("remove", r"/owner\.json$"),
    ],
}

AFTER_ALL_STEPS = (END,)
FROM_THE_START = (START_UP, RESUME)


def draw(kind: str, random: Random, rows: int, latest: int = NEVER) -> Trigger | FromOutside:
    """A moment of class ``kind``, not before the series holds ``rows`` rows, nor long after it holds ``latest``."""
    if kind == TRAINING:
        return FromOutside(rows, random.uniform(0.0, 0.15), latest)
    if kind == ANYWHERE:
        return FromOutside(random.choice((None, rows)), random.uniform(0.0, 4.0), latest)
    if kind == START_UP and random.random() < 0.15:
        return FromOutside(None, random.uniform(0.0, 2.0), latest)
    choice = random.choice(_CHOICES[kind])
    return Trigger(
        operation=choice.operation,
        pattern=choice.pattern,
        when=random.choice(choice.whens),
        count=random.randint(1, choice.most),
        rows=0 if kind in FROM_THE_START else rows,
        latest=latest,
        delay=random.uniform(0.0, choice.delay),
        share=random.random(),
    )
