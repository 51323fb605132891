"""What moving a workspace takes, and why it cannot be moved: looked at before anything is changed."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from training.errors import InputError, format_bytes, pluralize
from training.moving.at_work import refuse_work
from training.runs.folder import read_json
from training.system.untrusted import escape_unprintable

MARK: Final = ".moving.json"
"""In a folder that a workspace is being moved to, or (just before it is renamed) in the workspace itself."""
_BLOCK = 4096
"""What a file takes of a disk more than its bytes, at most, on usual disks."""


@dataclass(frozen=True)
class MovePlan:
    """``files`` of ``bytes`` go from ``workspace`` to ``target``; ``free`` is the room there. On the ``same_disk`` it is a rename."""

    workspace: Path
    target: Path
    files: int
    bytes: int
    free: int
    same_disk: bool

    @property
    def words(self) -> str:
        """What it takes, in a sentence or two."""
        what = f"{pluralize(self.files, 'file')} of {format_bytes(self.bytes)}"
        if self.same_disk:
            return f"{what}, on the same disk: the folder gets another name, which takes a moment and no room."
        return (
            f"{what}, to another disk with {format_bytes(self.free)} free: they are copied, and every file is compared before the "
            "new place is used."
        )


def make_plan(workspace: Path, target: Path) -> MovePlan:
    """What it takes to move ``workspace`` to ``target``, which is empty or not there yet. Raises InputError where that cannot be
    done, in one sentence."""
    refuse_place(workspace, target)
    refuse_work(workspace)
    files = total = 0
    for path, kind in walk(workspace):
        if kind == "file":
            files, total = files + 1, total + path.lstat().st_size
    there = next(path for path in (target, *target.parents) if path.exists())
    same = workspace.stat().st_dev == there.stat().st_dev and not workspace.is_mount()
    free = shutil.disk_usage(there).free
    plan = MovePlan(workspace, target, files, total, free, same)
    if not same:
        refuse_little_room(plan)
    return plan


def refuse_little_room(plan: MovePlan) -> None:
    """Raise InputError where a copy does not fit."""
    needed = plan.bytes + plan.files * _BLOCK
    if plan.free < needed:
        raise InputError(
            f"{_show(plan.target)}: {format_bytes(needed)} are needed and {format_bytes(plan.free)} are free; free some space there, or choose "
            "another disk."
        )


def refuse_place(workspace: Path, target: Path) -> None:
    """Raise InputError where ``target`` is no place for the workspace, or there is none to move."""
    if workspace.is_symlink():
        raise InputError(
            f"{_show(workspace)}: is a link to {_show(workspace.resolve())}; choose that as the workspace first."
        )
    if not workspace.is_dir():
        raise InputError(
            f"{_show(workspace)}: there is no such folder yet, so there is nothing to move; just choose another."
        )
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        raise InputError(f"{_show(target)}: is no folder; choose an empty folder, or a new one.")
    here, there = workspace.resolve(), target.resolve()
    if here == there or (target.exists() and target.samefile(workspace)):
        raise InputError(f"{_show(target)}: is where the workspace is already; choose another folder.")
    if here in there.parents:
        raise InputError(f"{_show(target)}: lies inside the workspace; choose a folder outside {_show(workspace)}.")
    try:
        filled = target.is_dir() and any(target.iterdir()) and not is_leftover(target)
    except OSError as error:
        raise InputError(
            f"{_show(target)}: cannot be read ({error.strerror or error}); choose another folder."
        ) from error
    if filled:
        raise InputError(f"{_show(target)}: is not empty; choose an empty folder, or a new one inside it.")


def is_leftover(target: Path) -> bool:
    """Whether all that lies in ``target`` is what a copy that was killed has left."""
    names = read_json(target / MARK).get("names")
    known = {MARK, *(name for name in names if isinstance(name, str))} if isinstance(names, list) else set()
    return MARK in known and {path.name for path in target.iterdir()} <= known


def walk(folder: Path) -> Iterator[tuple[Path, str]]:
    """All that has to be moved of ``folder``, a folder before what is in it: "folder", "file" or "link". Locks, which nobody holds,
    and the index, which is made again, are not. Raises InputError for what cannot be copied."""
    with os.scandir(folder) as entries:
        found = sorted(entries, key=lambda entry: entry.name)
    for entry in found:
        path = Path(entry.path)
        if entry.is_symlink():
            yield path, "link"
        elif entry.is_dir():
            yield path, "folder"
            yield from walk(path)
        elif not entry.is_file() or not stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
            raise InputError(f"{_show(path)}: is no file that can be copied; delete it, or put it elsewhere.")
        elif not is_passing(path.name):
            yield path, "file"


def is_passing(name: str) -> bool:
    """Whether a file of that name is made again wherever it is missing."""
    return name.endswith(".lock") or name.startswith("index.sqlite") or name == MARK


def _show(path: Path) -> str:
    return escape_unprintable(str(path), 300)
