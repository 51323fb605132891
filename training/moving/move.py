"""Moves a workspace: whole or not at all, whatever fails, is canceled or killed.

On the same disk it is renamed. On another every file is copied, and compared by digest with what lies in the old place then; the
old folder stays until ``delete_old``. Who calls this uses the new place only once it has returned.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from training.errors import Canceled, InputError, format_bytes
from training.moving.at_work import refuse_work
from training.moving.kept_paths import find_changes, write_changes
from training.moving.plan import MARK, MovePlan, is_leftover, refuse_little_room, refuse_place, walk
from training.runs.folder import read_json
from training.runs.records.manifest import digest
from training.system.atomic import sync_folder, write_text

_CHUNK: Final = 4 << 20
_COARSE: Final = 2.0  # seconds: how exactly the disks of cameras keep times
_NO_RENAME: Final = (errno.EXDEV, errno.EBUSY, errno.ENOTEMPTY, errno.EEXIST)


class MoveProgress(NamedTuple):
    """``done`` of ``total`` bytes were copied, or compared."""

    stage: str = "Looking"
    done: int = 0
    total: int = 0

    @property
    def fraction(self) -> float | None:
        """From 0 to 1; None where it is not known."""
        return self.done / self.total if self.total else None

    def __str__(self) -> str:
        return (
            f"{self.stage}: {format_bytes(self.done)} of {format_bytes(self.total)}"
            if self.total
            else f"{self.stage} …"
        )


Report = Callable[[MoveProgress], object]
IsCanceled = Callable[[], bool]


def move_workspace(
    plan: MovePlan, report: Report = lambda progress: None, is_canceled: IsCanceled = lambda: False
) -> bool:
    """Have all of the workspace in its new place; returns whether the old folder is still there, too. Raises InputError, and
    Canceled where ``is_canceled`` said so: then the old one is whole and in use, and nothing is left in the new place."""
    refuse_place(plan.workspace, plan.target)
    refuse_work(plan.workspace)
    try:
        if plan.same_disk and _rename(plan):
            return False
        refuse_little_room(plan)
        _Copy(plan, report, is_canceled).make()
    except OSError as error:
        where = error.filename or plan.target
        raise InputError(
            f"{where}: {error.strerror or error}, so the workspace was not moved; it is as it was. Mend that, or choose another folder."
        ) from error
    return True


def finish_move(workspace: Path) -> bool:
    """Where a process was killed just after it had renamed ``workspace``, have its files keep right paths; also takes away the mark of
    one that was killed just before. Returns whether there was a mark. Raises InputError."""
    mark = workspace / MARK
    if not mark.is_file():
        return False
    told = read_json(mark)
    old, new = told.get("from"), told.get("to")
    try:
        if isinstance(old, str) and new == str(workspace):
            write_changes(workspace, find_changes(workspace, Path(old), workspace))
        mark.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(
            f"{workspace}: was moved here, and its files cannot be written ({error.strerror or error}); make it writable."
        ) from error
    return True


def delete_old(plan: MovePlan) -> None:
    """Delete the folder that was copied. Raises InputError, also where somebody works in it, or has worked in it since."""
    refuse_work(plan.workspace)
    for name, kind in _relative(plan.workspace):
        old, new = plan.workspace / name, plan.target / name
        if not os.path.lexists(new) or (kind == "file" and _is_later(old, new)):
            raise InputError(
                f"{old}: was made or changed after the workspace was copied; the old folder was not deleted. Keep it, and delete it by hand "
                f"once what you need of it is in {plan.target}."
            )
    try:
        shutil.rmtree(plan.workspace)
    except OSError as error:
        raise InputError(
            f"{plan.workspace}: could not be deleted ({error.strerror or error}); the workspace is in {plan.target}, so delete it by hand."
        ) from error


def _rename(plan: MovePlan) -> bool:
    """Give the folder its new name; returns whether that can be done here."""
    old, new = plan.workspace, plan.target
    changes = find_changes(old, old, new)
    new.parent.mkdir(parents=True, exist_ok=True)
    if new.exists():
        if is_leftover(new):
            _clear(new)
        new.rmdir()
    mark = {"from": str(old), "to": str(new)}
    write_text(old / MARK, json.dumps(mark) + "\n")
    try:
        old.rename(new)
    except OSError as error:
        (old / MARK).unlink(missing_ok=True)
        if error.errno in _NO_RENAME:
            return False
        raise
    try:
        write_changes(new, changes)
    except OSError:
        new.rename(old)
        try:
            write_changes(old, changes, back=True)
        finally:
            (old / MARK).unlink(missing_ok=True)
        raise
    (new / MARK).unlink(missing_ok=True)
    sync_folder(new.parent)
    return True


class _Copy:
    """One copy: of every file, then a look at every file of both places."""

    def __init__(self, plan: MovePlan, report: Report, is_canceled: IsCanceled) -> None:
        self._plan, self._report, self._is_canceled = plan, report, is_canceled
        self._progress = MoveProgress()

    def make(self) -> None:
        """Copy and compare. Raises OSError, InputError, Canceled, with nothing left of it."""
        target = self._plan.target
        made = [path for path in (target, *target.parents) if not path.exists()]
        target.mkdir(parents=True, exist_ok=True)
        try:
            if (target / MARK).exists():
                _clear(target)
            names = [path.name for path in self._plan.workspace.iterdir()]
            write_text(target / MARK, json.dumps({"from": str(self._plan.workspace), "names": names}) + "\n")
            self._copy_all()
            self._compare_all()
            refuse_work(self._plan.workspace)
            write_changes(target, find_changes(target, self._plan.workspace, target))
            (target / MARK).unlink()
            sync_folder(target)
        except BaseException:
            _clear(target)
            for path in made:
                path.rmdir()
            raise

    def _copy_all(self) -> None:
        old, new = self._plan.workspace, self._plan.target
        self._progress = MoveProgress("Copying", 0, self._plan.bytes)
        folders = [old]
        for path, kind in walk(old):
            there = new / path.relative_to(old)
            if kind == "folder":
                there.mkdir()
                folders.append(path)
            elif kind == "link":
                there.symlink_to(path.readlink())
            else:
                self._copy(path, there)
        for path in reversed(folders):  # what is written into a folder changes its time
            shutil.copystat(path, new / path.relative_to(old))

    def _copy(self, path: Path, there: Path) -> None:
        with path.open("rb") as source, there.open("xb") as copy:
            while data := source.read(_CHUNK):
                self._go_on(len(data))
                copy.write(data)
            copy.flush()
            os.fsync(copy.fileno())
        shutil.copystat(path, there)

    def _compare_all(self) -> None:
        old, new = self._plan.workspace, self._plan.target
        self._progress = MoveProgress("Comparing", 0, self._plan.bytes)
        here, there = (dict(_relative(root)) for root in (old, new))
        if other := sorted(here.keys() ^ there.keys()):
            raise InputError(
                f"{old / other[0]}: came or went while the workspace was copied; try again once nothing works in it."
            )
        for name, kind in here.items():
            self._go_on((old / name).lstat().st_size if kind == "file" else 0)
            if not _is_same(old / name, new / name, kind):
                raise InputError(
                    f"{new / name}: is not what lies in the old workspace, which changed meanwhile, or the disk is faulty; the workspace was "
                    "not moved. Try again, or choose another disk."
                )

    def _go_on(self, more: int) -> None:
        if self._is_canceled():
            raise Canceled("Canceled. The workspace is where it was.")
        self._progress = self._progress._replace(done=min(self._progress.done + more, self._progress.total))
        self._report(self._progress)


def _relative(root: Path) -> list[tuple[str, str]]:
    return [(path.relative_to(root).as_posix(), kind) for path, kind in walk(root)]


def _is_same(old: Path, new: Path, kind: str) -> bool:
    if kind == "file":
        return digest(old) == digest(new)
    return kind == "folder" or old.readlink() == new.readlink()


def _is_later(old: Path, new: Path) -> bool:
    """Whether the original was written after it was copied: a copy keeps the time, as well as the disk can."""
    return old.stat().st_mtime > new.stat().st_mtime + _COARSE


def _clear(target: Path) -> None:
    """Take away what a copy made in ``target``, the mark last, so that the rest of it is still known for ours."""
    names = read_json(target / MARK).get("names")
    for name in names if isinstance(names, list) else ():
        path = target / str(name)
        if path.parent != target or path.name != name:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    (target / MARK).unlink(missing_ok=True)
