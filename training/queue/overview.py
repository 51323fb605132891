"""The queue as it is told: in words, and as records for ``--json`` and the window."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from training.queue.entries import ALL_DEVICES, Entry
from training.queue.occupied import find_running
from training.queue.store import Queue
from training.queue.workers import workers
from training.runs.owner import Owner

INTERRUPTED = "interrupted"
GO_ON = "Its worker is gone; queue start goes on with it."


@dataclass(frozen=True)
class Shown:
    """An entry with its ``state`` as it is now ("interrupted": at work, but its worker is gone), why, and its ``place`` among those
    that wait, from 1; 0 for others."""

    entry: Entry
    state: str
    reason: str
    place: int

    def dump(self, workspace: Path) -> dict[str, object]:
        """As ``--json`` tells it."""
        entry = self.entry
        told = entry.model_dump(include={"id", "name", "device", "added", "run", "worker", "began", "ended"})
        folder = str(workspace / "runs" / entry.run) if entry.run else None
        changes = {"state": self.state, "reason": self.reason or None, "place": self.place or None}
        return told | {"run": entry.run or None, "worker": entry.worker or None, "folder": folder} | changes


@dataclass(frozen=True)
class Overview:
    """All entries: what is at work or was interrupted, what waits in its order, what had its turn, the last one first.
    ``waits_for`` is the run of somebody else that all workers wait for, "" where they do not."""

    paused: bool
    workers: dict[str, Owner]
    shown: tuple[Shown, ...]
    waits_for: str = ""

    @property
    def at_work(self) -> tuple[Shown, ...]:
        """What is being trained."""
        return tuple(each for each in self.shown if each.state == "at work")

    @property
    def interrupted(self) -> tuple[Shown, ...]:
        """What a worker was killed over."""
        return tuple(each for each in self.shown if each.state == INTERRUPTED)

    @property
    def waiting(self) -> tuple[Shown, ...]:
        """What is to be trained, the next one first."""
        return tuple(each for each in self.shown if each.state == "waiting")

    @property
    def sentence(self) -> str:
        """How things stand, and what to do where nothing happens by itself."""
        if not self.shown:
            return "The queue is empty."
        parts = [f"{each.entry.name} is at work" for each in self.at_work]
        parts += [f"{each.entry.name} was interrupted" for each in self.interrupted]
        parts.append(f"{len(self.waiting):,} waiting" if self.waiting else "nothing waits")
        told = ", ".join(parts)
        return f"{told[:1].upper()}{told[1:]}. {self.hint}".strip()

    @property
    def hint(self) -> str:
        """Why nothing is begun, where something waits; "" else."""
        if not (self.waiting or self.interrupted):
            return ""
        if self.paused:
            return "The queue is paused: python -m training queue go"
        if not self.workers:
            return "Nobody works it off: python -m training queue start"
        return f"It waits for the end of the run {self.waits_for}." if self.waits_for else ""

    def dump(self, workspace: Path) -> dict[str, object]:
        """As ``--json`` tells it."""
        told = [
            {"device": None if name == ALL_DEVICES else name, "pid": each.pid, "host": each.host, "since": each.since}
            for name, each in self.workers.items()
        ]
        entries = [each.dump(workspace) for each in self.shown]
        return {"paused": self.paused, "workers": told, "waits_for": self.waits_for or None, "entries": entries}


def look_at(queue: Queue) -> Overview:
    """The queue as it is now; changes nothing. Raises InputError as ``Queue.read``."""
    content = queue.read()
    live = workers(queue) if content.entries else {}
    shown = []
    for entry in content.at_work:
        held = entry.worker in live
        shown.append(Shown(entry, entry.state if held else INTERRUPTED, entry.reason if held else GO_ON, 0))
    shown += [Shown(entry, entry.state, entry.reason, place) for place, entry in enumerate(content.waiting, 1)]
    shown += [Shown(entry, entry.state, entry.reason, 0) for entry in content.over]
    waits_for = ""
    if content.waiting and live and not content.paused and not content.at_work:
        found = [find_running(queue.workspace, name) for name in live]
        waits_for = next((run.id for run in found if run is not None), "")
    return Overview(content.paused, live, tuple(shown), waits_for)
