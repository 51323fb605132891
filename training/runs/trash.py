"""Runs that were thrown away lie in the folder ``trash`` beside ``runs`` until they are restored or deleted for good."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from training.errors import InputError
from training.runs.folder import RunFolder, refuse_removal
from training.runs.records.about import name_of, read_about

TRASH = "trash"


@dataclass(frozen=True)
class TrashedRun:
    """``thrown``: when, in seconds since 1970; ``size`` in bytes."""

    folder: RunFolder
    name: str
    thrown: float
    size: int


def trash_run(folder: RunFolder) -> RunFolder:
    """Move a run into the trash by one rename; returns it there. Raises what ``refuse_removal`` does, and InputError where the
    trash holds one of its name."""
    refuse_removal(folder)
    trash = folder.path.parent.with_name(TRASH)
    trash.mkdir(exist_ok=True)
    place = trash / folder.id
    if place.exists():
        raise InputError(f"{place}: a run of that name is in the trash already; restore or delete that one first.")
    folder.path.rename(place)
    os.utime(place)  # what tells when
    return RunFolder(place)


def restore_run(trashed: RunFolder) -> RunFolder:
    """Move a run back from the trash; returns it there. Raises InputError where another folder has taken its place."""
    place = trashed.path.parent.with_name("runs") / trashed.id
    if place.exists():
        raise InputError(f"{place}: is in use again, so the run cannot be restored; move that folder first.")
    place.parent.mkdir(exist_ok=True)
    trashed.path.rename(place)
    return RunFolder(place)


def delete_trashed(trashed: RunFolder) -> None:
    """Remove a run from the trash for good."""
    if trashed.path.parent.name != TRASH:
        raise InputError(f"{trashed.path}: is not in the trash; nothing is deleted.")
    shutil.rmtree(trashed.path)


def list_trash(workspace: Path, known: Sequence[TrashedRun] = ()) -> list[TrashedRun]:
    """What lies in the trash, the newest first. Those of an earlier list that are ``known`` are not read again: nothing changes
    there."""
    trash = workspace / TRASH
    folders = [RunFolder(path) for path in trash.iterdir() if path.is_dir()] if trash.is_dir() else []
    before = {(run.folder, run.thrown): run for run in known}
    found = []
    for each in folders:
        thrown = each.path.stat().st_mtime
        seen = before.get((each, thrown))
        found.append(
            seen or TrashedRun(each, name_of(each.read_status(), read_about(each)), thrown, measure_folder(each.path))
        )
    return sorted(found, key=lambda run: run.thrown, reverse=True)


def measure_folder(path: Path) -> int:
    """Bytes that the files below ``path`` take; what vanishes meanwhile counts for nothing."""
    size = 0
    with suppress(FileNotFoundError), os.scandir(path) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                inner = entry.is_dir(follow_symlinks=False)
                size += measure_folder(Path(entry.path)) if inner else entry.stat(follow_symlinks=False).st_size
    return size
