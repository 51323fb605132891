"""A run works inside its own folder only, and on files that are what they should be."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

from training.errors import InputError
from training.system.untrusted import MEGABYTE

MOST_SERIES: Final = 4096 * MEGABYTE
"""134 million steps; a sparse file may claim terabytes."""

_FOLDERS: Final = frozenset({"checkpoints", "evaluations", "exports", "set_aside", "tracking", "copies", "launch"})
_SERIES: Final = frozenset({"series.bin", "telemetry.bin", "parts.bin", "layers.bin", "units.bin"})
_APPENDED: Final = _SERIES | {"events.jsonl", "boundary.bin", "log.txt"}
FILES: Final = _APPENDED | {
    "config.toml", "status.json", "environment.json", "packages.json", "data.json", "commands.jsonl", "splits.safetensors", "owner.json",
    "labels.json", "places.json", "network.py", "dataset.py", "loss.py", "exclude.txt", "profile.json", "evaluation.json", "about.json",
    "open.trainwright",
}  # fmt: skip


def refuse_links(folder: Path) -> None:
    """Raise InputError when something in the run folder ``folder`` is a link, a pipe or a device, or one of a run's own
    names is something else than a run keeps there, or cannot be read and written.

    Working there appends to files and tidies up checkpoints: a link would lead that to another place, a pipe or a
    device would block it, and the rest would end it in the middle.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            if fault := _link(entry) or _other_kind(entry) or _size(entry) or _find_refusal(entry):
                raise InputError(f"{folder / entry.name}: {fault}")


def _link(entry: os.DirEntry[str]) -> str:
    if not entry.is_symlink() and (entry.is_file() or entry.is_dir()):
        return ""
    what = "a link to another place" if entry.is_symlink() else "no ordinary file"
    return f"is {what}, but a run is worked on in its own folder only; put an ordinary file or folder in its place."


def _other_kind(entry: os.DirEntry[str]) -> str:
    if entry.name in FILES and entry.is_dir():
        return "is a folder, but a run has a file of this name; put the run's own file back, or take the folder away."
    if entry.name in _FOLDERS and not entry.is_dir():
        return "is a file, but a run has a folder of this name; put the run's own folder back, or take the file away."
    return ""


def _size(entry: os.DirEntry[str]) -> str:
    if entry.name in _SERIES and entry.stat().st_size > MOST_SERIES:
        return "is larger than any run's; put the run's own file back, or take it away."
    return ""


def _find_refusal(entry: os.DirEntry[str]) -> str:
    if entry.name not in FILES:
        return ""
    try:
        os.close(os.open(entry.path, os.O_RDWR if entry.name in _APPENDED else os.O_RDONLY))
    except OSError as error:
        if error.errno in (errno.EROFS, errno.ENOENT):  # said of the whole disk; tidied away while we looked
            return ""
        return f"cannot be used ({error.strerror or error}); change its permissions."
    return ""
