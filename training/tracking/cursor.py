"""How far each tracker has been sent a run: one small file for each in the run's folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from training.runs.folder import RunFolder, read_json
from training.system.atomic import write_text
from training.tracking.settings import NAMES, Name


class Cursor(BaseModel):
    """``place``: where the run was sent. ``remote``: what it is called there. ``steps``, ``measured``: how much of the ledger is
    there. ``sent``: digests of settings, files and images by their names. ``ended``: the end that was told there."""

    model_config = ConfigDict(validate_assignment=True)

    place: str = ""
    remote: str = ""
    steps: int = 0
    measured: int = 0
    size: int = 0  # of the event file
    sent: dict[str, str] = {}
    ended: str = ""
    problem: str = ""
    notes: list[str] = []

    def take(self, name: str, content: bytes) -> bool:
        """Whether ``content`` is new under ``name``; from now on it is known."""
        digest = hashlib.sha256(content).hexdigest()
        new = self.sent.get(name) != digest
        self.sent = {**self.sent, name: digest}
        return new

    def save(self, folder: RunFolder, tracker: Name) -> None:
        """Keep it in the run's folder."""
        write_text(_file(folder, tracker), self.model_dump_json(indent=1) + "\n")


def read_cursor(folder: RunFolder, tracker: Name) -> Cursor:
    """As it was kept; a new one where there is none that can be read."""
    try:
        return Cursor.model_validate(read_json(_file(folder, tracker)))
    except ValidationError:
        return Cursor()


def find_known_trackers(folder: RunFolder) -> tuple[Name, ...]:
    """Those that were sent something of this run."""
    return tuple(name for name in NAMES if _file(folder, name).is_file())


def describe_deliveries(folder: RunFolder) -> Iterator[str]:
    """A line for each tracker of the run: what it has, and what went wrong."""
    for name in find_known_trackers(folder):
        cursor = read_cursor(folder, name)
        yield f"tracker    {name}: {cursor.steps:,} steps in {cursor.place}{f'; {cursor.problem}' if cursor.problem else ''}"
        yield from (f"           {note}" for note in cursor.notes)


def _file(folder: RunFolder, tracker: Name) -> Path:
    return folder.tracking / f"{tracker}.json"
