"""What a run sets aside: a whole former state of it, in ``set_aside/<name>`` of its folder, until it changes places with the
present one again or is cleared away.

A state is every file that training changes, the checkpoints, and what was evaluated of them. The present one and another change places by one rename: it
gives a finished folder with all that is kept its name. From then on the exchange is done; what is left, putting the files in
their places, can be repeated and is finished by whoever works on the run or reads it next. A process that is killed before
leaves a temporary folder, which counts for nothing and is removed.
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from training.errors import InputError, RunBusyError
from training.runs.folder import RunFolder, claim, owner_of, read_json, release
from training.runs.links import refuse_links
from training.runs.records.forms import ExchangePlan, SetAsideRecord
from training.runs.storage import storage_error
from training.system.atomic import sync_folder

SET_ASIDE = "set_aside"
NEW = "new"
"""In a folder that is being set aside: the state that takes its place."""

_RECORD = "set_aside.json"
_UNFINISHED = "unfinished.json"
_TEMPORARY = ".tmp-"


@dataclass(frozen=True)
class SetAside:
    """A former state of a run in ``path``, which ``RunFolder`` reads as it reads a run. The run went back to ``step`` then; what
    is set aside had come to ``reached``. ``size``: bytes that clearing it away gives back."""

    path: Path
    step: int
    reached: int
    time: float  # seconds since 1970
    size: int

    @property
    def name(self) -> str:
        """What it is called in its run."""
        return self.path.name


def list_set_aside(folder: RunFolder) -> list[SetAside]:
    """What the run has set aside, newest first; folders of another kind are passed over."""
    found = [_read(path) for path in _entries(folder) if not path.name.startswith(_TEMPORARY)]
    return sorted((item for item in found if item), key=lambda item: (item.time, item.name), reverse=True)


def _entries(folder: RunFolder) -> list[Path]:
    place = folder.path / SET_ASIDE
    if place.is_symlink():
        return []
    try:
        return [path for path in place.iterdir() if path.is_dir() and not path.is_symlink()]
    except (FileNotFoundError, NotADirectoryError):  # also where another process clears it away just now
        return []


def _read(path: Path) -> SetAside | None:
    try:
        record = SetAsideRecord.model_validate(read_json(path / _RECORD))
    except ValidationError:  # of another kind
        return None
    return SetAside(path, record.step, record.reached, record.time, own_bytes(path))


def own_bytes(folder: Path) -> int:
    """Bytes of the files in ``folder`` that lie nowhere else, too, but for the record of a set aside state."""
    size = 0
    for where, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):  # deleted meanwhile
                file = os.lstat(os.path.join(where, name))  # noqa: PTH118 - thousands may be walked
                size += file.st_size if file.st_nlink == 1 and name != _RECORD else 0
    return size


def state_files(folder: RunFolder) -> list[Path]:
    """The files that training changes, but for the checkpoints; there or not. The status comes last: an attempt that is refused
    half-way writes it, which must count for nothing in the end."""
    return [
        folder.series_file,
        folder.telemetry_file,
        *folder.column_files,
        folder.events_file,
        folder.labels_file,
        folder.evaluation_file,
        folder.boundary_file,
        folder.profile_file,
        folder.status_file,
    ]


def exchange(
    folder: RunFolder, step: int, reached: int, source: str, fill: Callable[[Path], None], keep: bool = True
) -> SetAside:
    """Let the present state of the run, which came to ``reached`` and goes back to ``step``, change places with another one.

    The other is the one set aside as ``source``, or, where that is ``NEW``, the one that ``fill`` makes in the folder of this
    name inside the folder it is given, where it finds the present state's files. Without ``keep`` the present state is deleted
    in the end. Raises InputError, having changed nothing, where that cannot be written.
    """
    place = folder.path / SET_ASIDE
    made = place / f"{_TEMPORARY}{secrets.token_hex(4)}"
    record = SetAsideRecord(step=step, reached=reached, time=time.time())
    try:
        _remove_temporary(folder)
        folder.checkpoints.mkdir(exist_ok=True)
        made.mkdir(parents=True)
        for path in state_files(folder):
            if path.is_dir():
                raise InputError(f"{path}: is a folder, but must be a file of the run; put it away.")
            if path.is_file():
                link(path, made / path.name)
        fill(made)
        state = RunFolder(made / NEW if source == NEW else place / source)
        names = [path.name for path in state_files(state) if path.is_file()]
        if folder.evaluations.is_dir() or state.evaluations.is_dir():  # which then change places, too
            folder.evaluations.mkdir(exist_ok=True)
            state.evaluations.mkdir(exist_ok=True)
        (made / _RECORD).write_text(record.model_dump_json() + "\n", encoding="utf-8")
        plan = ExchangePlan(source=source, files=names, keep=keep)
        (made / _UNFINISHED).write_text(plan.model_dump_json() + "\n", encoding="utf-8")
        _sync(made)
        final = _name(place, step, reached)
        made.rename(final)
    except BaseException as error:
        shutil.rmtree(made, ignore_errors=True)
        with suppress(OSError):
            place.rmdir()  # where it holds nothing else
        if isinstance(error, OSError):
            raise _explain_failure(folder, error) from error
        raise
    _finish(folder, final)
    return SetAside(final, step, reached, record.time, own_bytes(final))


def link(source: str | Path, target: str | Path) -> None:
    """Let ``target`` be the same file as ``source``, or, on disks that know no such thing, a copy."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
        _sync_file(Path(target))


def _sync(folder: Path) -> None:
    """Make what lies in ``folder`` survive a power cut. Checkpoints in it are linked: they have been on the disk for long;
    evaluations can be computed again."""
    for where, _, names in os.walk(folder, topdown=False):
        path = Path(where)
        for name in names if not {"checkpoints", "evaluations"} & {*path.relative_to(folder).parts} else ():
            _sync_file(path / name)
        sync_folder(path)


def _sync_file(path: Path) -> None:
    with path.open("rb+") as stream:
        os.fsync(stream.fileno())


def _name(place: Path, step: int, reached: int) -> Path:
    plain = place / f"steps-{step + 1}-{reached}"
    path, number = plain, 1
    while os.path.lexists(path):
        number += 1
        path = plain.with_name(f"{plain.name}-{number}")
    return path


def _explain_failure(folder: RunFolder, error: OSError) -> InputError:
    said = storage_error(error, folder.status_file)
    return InputError(
        f"{said.message} The run was left as it is.", "Free some space or make the folder writable; try again."
    )


def finish_rewind(folder: RunFolder) -> None:
    """Finish what a process that was killed in the middle of an exchange left undone; to be called before a run is read or worked
    on. Nothing is done while a process works on it. Raises InputError where it cannot be finished."""
    known = _entries(folder)
    left = [path for path in known if _is_unfinished(path) or path.name.startswith(_TEMPORARY)]
    if (known and not left) or not (folder.path / SET_ASIDE).is_dir() or owner_of(folder.path) is not None:
        return
    try:
        claim(folder.path)
    except RunBusyError:  # who works on it now finishes it
        return
    except InputError:
        if any(_is_unfinished(path) for path in left):
            raise
        return  # what counts for nothing may stay in a folder that cannot be written
    try:
        for path in filter(_is_unfinished, _entries(folder)):
            _finish(folder, path)
        _remove_temporary(folder)
    finally:
        release(folder.path)


def _is_unfinished(path: Path) -> bool:
    return (path / _UNFINISHED).is_file() and not path.name.startswith(_TEMPORARY)


def _finish(folder: RunFolder, aside: Path) -> None:
    """Put the other state in its place; what has been done already is passed over."""
    try:
        plan = ExchangePlan.model_validate(read_json(aside / _UNFINISHED))
    except ValidationError as error:
        raise InputError(f"{aside / _UNFINISHED}: is damaged; delete it to leave the run as it is.") from error
    source = _find_source(folder, aside, plan.source)
    try:
        for place in (aside.parent, folder.path):  # the plan's name before what it tells to do
            sync_folder(place)
        for present in (folder.checkpoints, folder.evaluations):
            kept, new = aside / present.name, source / present.name
            if new.is_dir():
                if not kept.is_dir():
                    present.rename(kept)
                new.rename(present)
        for path in state_files(folder):
            if (source / path.name).is_file():
                os.replace(source / path.name, path)
            elif path.name not in plan.files and (aside / path.name).is_file():
                path.unlink(missing_ok=True)
        sync_folder(aside)
        sync_folder(folder.path)
        if source.name == NEW:
            shutil.rmtree(source, ignore_errors=True)
        else:
            remove(source)
        if plan.keep:
            (aside / _UNFINISHED).unlink()
            sync_folder(aside)
        else:
            remove(aside)
    except OSError as error:
        said = storage_error(error, folder.status_file)
        raise InputError(
            f"{said.message} The run is half-way between two of its states.",
            "Close other programs that read it or make the folder writable; then open or resume the run, which finishes it.",
        ) from error


def _find_source(folder: RunFolder, aside: Path, named: str) -> Path:
    """Where the other state lies: inside the run's own folder, whoever wrote the plan. Not there any more once it is used up."""
    known = [aside / NEW] if named == NEW else [path for path in _entries(folder) if path.name == named]
    for path in (aside, *known):
        if path.is_dir():
            refuse_links(path)
    return known[0] if known else aside / NEW


def remove(folder: Path) -> None:
    """Delete what is set aside, or the leavings of an exchange: its name is gone at once, however long that takes."""
    if folder.is_dir():
        gone = folder.with_name(f"{_TEMPORARY}{secrets.token_hex(4)}")
        folder.rename(gone)
        shutil.rmtree(gone)
    with suppress(OSError):
        folder.parent.rmdir()  # where it holds nothing else


def _remove_temporary(folder: RunFolder) -> None:
    for path in _entries(folder):
        if path.name.startswith(_TEMPORARY):
            shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):
        (folder.path / SET_ASIDE).rmdir()  # where it holds nothing else
