"""What ``queue.json`` holds."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from training.config import parse_config
from training.engines.search import name_environment
from training.errors import ConfigError, InputError

FORMAT = 1
ALL_DEVICES = "any"
"""The worker that works off everything, whatever device it asks for."""
AUTO = "auto"

State = Literal["waiting", "at work", "done", "failed", "stopped", "passed over"]
OVER: tuple[State, ...] = ("done", "failed", "stopped", "passed over")


class Entry(BaseModel):
    """A run that waits, is at work or had its turn. ``run`` is its id, "" before it has a folder, ``worker`` the device of the worker
    that has it or had it last, ``python`` that of the engine that was chosen for it ("": its worker's), ``reason`` why it is in this state,
    ``stop`` whether somebody asked for this run's end, ``ranks`` how many processes share it. Times are seconds since 1970."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow")

    id: str
    name: str
    device: str = AUTO
    python: str = ""
    ranks: int = 1
    added: float = 0.0
    state: State = "waiting"
    reason: str = ""
    stop: bool = False
    run: str = ""
    worker: str = ""
    began: float | None = None
    ended: float | None = None

    @property
    def place(self) -> str:
        """Where it asks to be trained, in how many processes where they are several: "auto", "2 x cpu"."""
        return self.device if self.ranks == 1 else f"{self.ranks} x {self.device}"

    @property
    def engine(self) -> str:
        """What its engine is called; "" for its worker's."""
        return name_environment(Path(self.python)) if self.python else ""


class Removed(BaseModel):
    """An entry that was taken out, and which one of all it was."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow")

    entry: Entry
    place: int


class Content(BaseModel):
    """``queue.json``: ``next_id`` is the id of the entry that is added next; those that wait do so in the order of ``entries``.
    ``removed`` are the last ones that were taken out, which can be put back, the last one at the end."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow")

    format: int = FORMAT
    next_id: int = 1
    paused: bool = False
    entries: tuple[Entry, ...] = ()
    removed: tuple[Removed, ...] = ()

    @property
    def waiting(self) -> tuple[Entry, ...]:
        """Those that wait, the next one first."""
        return tuple(entry for entry in self.entries if entry.state == "waiting")

    @property
    def at_work(self) -> tuple[Entry, ...]:
        """Those that a worker has, or had when it was killed."""
        return tuple(entry for entry in self.entries if entry.state == "at work")

    @property
    def over(self) -> tuple[Entry, ...]:
        """Those that had their turn, the last one first."""
        over = (entry for entry in self.entries if entry.state in OVER)
        return tuple(sorted(over, key=lambda entry: entry.ended or 0.0, reverse=True))

    def find(self, key: str) -> Entry:
        """The entry of this id. Raises InputError."""
        found = next((entry for entry in self.entries if entry.id == key), None)
        if found is None:
            known = ", ".join(sorted((entry.id for entry in self.entries), key=lambda id_: (len(id_), id_)))
            hint = f"there are {known}." if known else "the queue is empty."
            raise InputError(f"{key}: the queue has no such entry; {hint}")
        return found


def without(entries: Iterable[Entry], key: str) -> tuple[Entry, ...]:
    """Those of another id."""
    return tuple(entry for entry in entries if entry.id != key)


def name_device(text: str) -> str:
    """A device by the one name that the queue has for it: the first GPU is cuda:0. Raises InputError for what is no device."""
    try:
        config = parse_config({"precision": {"device": text}}, paths=False)
    except ConfigError as error:
        raise InputError(f"--device: {error.problems[0].message}") from error
    device = config.precision.device
    return "cuda:0" if device == "cuda" else device
