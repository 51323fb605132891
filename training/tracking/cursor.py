"""How far each tracker has been sent a run: one small file for each in the run's folder."""

from __future__ import annotations

import hashlib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from training.runs.folder import RunFolder, read_json
from training.system.atomic import write_text
from training.tracking.settings import NAMES, Name


class Cursor(BaseModel):
    """``place``: where the run was sent. ``remote``: what it is called there, ``link``: where a browser finds it. ``steps``,
    ``measured``: how much of the ledger is there. ``sent``: digests of settings, files and images by their names. ``forget``: the step
    from which on what was sent is not so any more, 0 for none. ``ended``: the end that was told there."""

    model_config = ConfigDict(validate_assignment=True)

    place: str = ""
    remote: str = ""
    link: str = ""
    steps: int = 0
    measured: int = 0
    size: int = 0  # of the event file
    sent: dict[str, str] = {}
    forget: int = 0
    ended: str = ""
    problem: str = ""
    notes: list[str] = []

    def lacks(self, name: str, content: bytes) -> bool:
        """Whether ``content`` was not sent under ``name``, or another was since."""
        return self.sent.get(name) != hashlib.sha256(content).hexdigest()

    def note(self, name: str, content: bytes) -> None:
        """``content`` was sent under ``name``."""
        self.sent = {**self.sent, name: hashlib.sha256(content).hexdigest()}

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
    """Those that the run was sent to, or was to be sent to."""
    return tuple(name for name in NAMES if _file(folder, name).is_file())


def _file(folder: RunFolder, tracker: Name) -> Path:
    return folder.tracking / f"{tracker}.json"
