"""Runs, and parts of runs, that were thrown away lie in the folder ``trash`` beside ``runs`` until they are restored or deleted for
good."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from training.errors import InputError
from training.runs.folder import RunFolder, claim, read_json, refuse_removal, release
from training.runs.records.about import name_of, read_about
from training.runs.records.forms import TrashedPart
from training.system.atomic import write_text

TRASH = "trash"
_PART, _CONTENT = "part.json", "content"


@dataclass(frozen=True)
class TrashedRun:
    """A run, or a part of one, which ``name`` tells. ``thrown``: when, in seconds since 1970; ``size`` in bytes."""

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


def trash_part(folder: RunFolder, path: Path, title: str) -> RunFolder:
    """Move ``path``, a folder in a folder of the run, into the trash by one rename; ``title`` says what it is. Returns where it lies,
    which ``restore_run`` takes."""
    trash = folder.path.parent.with_name(TRASH)
    made = trash / f"{folder.id}.{secrets.token_hex(4)}"
    made.mkdir(parents=True)
    try:
        place = path.relative_to(folder.path).as_posix()
        name = name_of(folder.status(), read_about(folder))
        record = TrashedPart(run=folder.id, name=name, place=place, title=title)
        write_text(made / _PART, f"{json.dumps(record.model_dump())}\n")
        path.rename(made / _CONTENT)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    return RunFolder(made)


def _read_part(trashed: RunFolder) -> TrashedPart | None:
    """None of a whole run. Raises InputError where it says no place inside a run."""
    if not (trashed.path / _PART).is_file():
        return None
    try:
        part = TrashedPart.model_validate(read_json(trashed.path / _PART))
    except ValidationError as error:
        raise InputError(f"{trashed.path / _PART}: is damaged; what it belongs to cannot be told.") from error
    names = [part.run, *part.place.split("/")]
    if len(names) != 3 or any(name != Path(name).name or name in ("", ".", "..") for name in names):
        raise InputError(f"{trashed.path / _PART}: names no place inside a run: {part.place!r}.")
    return part


def _restore_part(trashed: RunFolder, part: TrashedPart) -> RunFolder:
    run = RunFolder(trashed.path.parent.with_name("runs") / part.run)
    if not run.path.is_dir():
        raise InputError(f"The run {part.run} is not there any more; restore it from the trash first.")
    refuse_removal(run)
    claim(run.path)
    try:
        wanted = place = run.path / part.place
        number = 1
        while os.path.lexists(place):  # what was set aside since may be called the same
            number += 1
            place = wanted.with_name(f"{wanted.name}-{number}")
        place.parent.mkdir(exist_ok=True)
        (trashed.path / _CONTENT).rename(place)
    finally:
        release(run.path)
    shutil.rmtree(trashed.path)
    return run


def restore_run(trashed: RunFolder) -> RunFolder:
    """Move a run, or a part of one, back from the trash; returns the run. Raises InputError where another folder has taken its place,
    or its run is gone or at work."""
    if (part := _read_part(trashed)) is not None:
        return _restore_part(trashed, part)
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
        found.append(seen or TrashedRun(each, _name(each), thrown, measure_folder(each.path)))
    return sorted(found, key=lambda run: run.thrown, reverse=True)


def _name(trashed: RunFolder) -> str:
    try:
        part = _read_part(trashed)
    except InputError:  # said when it is to be restored; it can be deleted
        return trashed.id
    if part is not None:
        return f"{part.title} of “{part.name}”"
    return name_of(trashed.read_status(), read_about(trashed))


def measure_folder(path: Path) -> int:
    """Bytes that the files below ``path`` take; what vanishes meanwhile counts for nothing."""
    size = 0
    with suppress(FileNotFoundError), os.scandir(path) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):
                inner = entry.is_dir(follow_symlinks=False)
                size += measure_folder(Path(entry.path)) if inner else entry.stat(follow_symlinks=False).st_size
    return size
