"""The queue as it is told: in words, and as records for ``--json`` and the window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from training.queue.device import PAUSED, explain_place, explain_running, find_running
from training.queue.entries import ALL_DEVICES, Content, Entry
from training.queue.store import Queue
from training.queue.workers import workers
from training.runs.owner import Owner

INTERRUPTED = "interrupted"
GO_ON = "Its worker is gone; the next one goes on with it."
STOPPING = "Asked for an end."


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
        told = entry.model_dump(
            include={"id", "name", "device", "python", "ranks", "added", "run", "worker", "began", "ended"}
        )
        folder = str(workspace / "runs" / entry.run) if entry.run else None
        changes = {"state": self.state, "reason": self.reason or None, "place": self.place or None}
        return told | {"run": entry.run or None, "worker": entry.worker or None, "folder": folder} | changes


@dataclass(frozen=True)
class Overview:
    """All entries: what is at work or was interrupted, what waits in its order, what had its turn, the last one first. ``hint`` is why
    nothing is begun, where something waits, and ``waits_for`` the run whose end the workers wait for; "" else."""

    paused: bool
    workers: dict[str, Owner]
    shown: tuple[Shown, ...]
    hint: str = ""
    waits_for: str = ""

    def list_state(self, *states: str) -> list[Shown]:
        """Those in one of ``states``."""
        return [each for each in self.shown if each.state in states]

    @property
    def left_alone(self) -> list[Shown]:
        """What waits or was interrupted, where nobody works off anything."""
        return [] if self.workers else self.list_state("waiting", INTERRUPTED)

    def dump(self, workspace: Path) -> dict[str, object]:
        """As ``--json`` tells it."""
        told = [
            {"device": None if name == ALL_DEVICES else name, "pid": each.pid, "host": each.host, "since": each.since}
            for name, each in self.workers.items()
        ]
        entries = [each.dump(workspace) for each in self.shown]
        return {"paused": self.paused, "workers": told, "hint": self.hint or None, "entries": entries}


def look_at(queue: Queue) -> Overview:
    """The queue as it is now; changes nothing. Raises InputError as ``Queue.read``."""
    content = queue.read()
    live = workers(queue)
    shown = []
    for entry in content.at_work:
        held = entry.worker in live
        reason = STOPPING if entry.stop else entry.reason
        shown.append(Shown(entry, entry.state if held else INTERRUPTED, reason if held else GO_ON, 0))
    for place, entry in enumerate(content.waiting, 1):
        reason = entry.reason or explain_place(entry, live)
        shown.append(Shown(entry, entry.state, reason, place))
    shown += [Shown(entry, entry.state, entry.reason, 0) for entry in content.over]
    return Overview(content.paused, live, tuple(shown), *_explain(queue, content, live))


def _explain(queue: Queue, content: Content, live: Mapping[str, Owner]) -> tuple[str, str]:
    """The hint, and the run that is waited for."""
    held = [entry for entry in content.at_work if entry.worker in live]
    if not content.waiting and len(held) == len(content.at_work):
        return "", ""
    if not live:
        paused = "The queue is paused (queue go lets it go on), and n" if content.paused else "N"
        return f"{paused}othing trains its runs yet: python -m training queue start", ""
    if content.paused:
        return PAUSED, ""
    runs = [] if held else [find_running(queue.workspace, name) for name in live]
    run = next((run for run in runs if run is not None), None)
    return (explain_running(run), run.id) if run is not None else ("", "")
