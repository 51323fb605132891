"""Where runs live, and how one is found by what a person types."""

from __future__ import annotations

import difflib
import os
import shlex
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol, TypeVar

from training.embedded_config import is_report
from training.errors import CheckpointError, InputError
from training.runs.folder import RunFolder
from training.runs.records.about import read_about
from training.runs.records.manifest import (
    BEST,
    MANIFEST,
    NO_BEST,
    WEIGHTS,
    best_checkpoint,
    checkpoint_folders,
    read_labels,
    verify,
)
from training.runs.set_aside import SET_ASIDE, finish_rewind
from training.system.places import usual_workspace
from training.toml_text import Toml, read_table
from training.typed_paths import parse_path

_TEACHER = "objective.teacher"


class _HasId(Protocol):
    @property
    def id(self) -> str: ...


Named = TypeVar("Named", bound=_HasId)


def default_workspace() -> Path:
    """``$TRAINWRIGHT_WORKSPACE``, else ``Trainwright`` in the user's documents folder, or that of portable mode."""
    given = os.environ.get("TRAINWRIGHT_WORKSPACE")
    return parse_path(given).absolute() if given else usual_workspace()


def choose_workspace(text: str) -> Path:
    """The folder that a person wants as workspace, there or not yet. Raises InputError where it cannot be one."""
    path = parse_path(text)
    if not path.is_absolute():
        raise InputError(f"{text}: write the whole path of the folder for the runs.")
    there = next((each for each in (path, *path.parents) if os.access(each, os.F_OK)), None)
    if there is None:
        raise InputError(f"{path.anchor} is not there. Choose another folder for the runs.")
    if not there.is_dir():
        raise InputError(f"{there} is a file. Choose a folder for the runs.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise InputError(f"{there} cannot be written. Choose another folder for the runs.")
    return path


def _quote_odd(text: str) -> str:
    return text if text.isprintable() else repr(text)  # control characters would be obeyed by a terminal


def run_folders(workspace: Path) -> list[RunFolder]:
    """Every run folder of ``workspace``, oldest first (a config is written once, when the run is made)."""
    runs = workspace / "runs"
    if not runs.is_dir():
        return []
    with os.scandir(runs) as entries:
        places = [(entry.name, entry.path) for entry in entries]
    made = sorted((when, name, path) for name, path in places if (when := _read_creation(path)) is not None)
    return [RunFolder(Path(path)) for _when, _name, path in made]


def _is_run(path: Path) -> bool:
    """Also one that lost its configuration: checkpoints know what it said."""
    return any((path / name).is_file() for name in ("config.toml", "status.json"))


def run_opened_by(file: Path) -> Path | None:
    """The folder of the run that a double click on ``file`` in it shows; None for any other file."""
    return file.parent if file == RunFolder(file.parent).opener_file and file.is_file() else None


def _read_creation(path: str) -> int | None:
    """When the run in ``path`` was made; None when there is none. By system calls: there may be ten thousand."""
    with suppress(OSError):
        config = os.stat(f"{path}{os.sep}config.toml")
        if stat.S_ISREG(config.st_mode):
            return config.st_mtime_ns
    try:
        return os.stat(path).st_mtime_ns if _is_run(Path(path)) else None
    except OSError:
        return 0


def find_run(text: str, workspace: Path) -> RunFolder:
    """The run meant by a folder, an id, the unambiguous start of an id, or a name (the newest of that name), whole: a way back
    that was killed half-way is finished.

    Raises InputError saying what is known instead.
    """
    folder = _find_meant(text, workspace)
    finish_rewind(folder)
    return folder


def _find_meant(text: str, workspace: Path) -> RunFolder:
    path = parse_path(text)
    _refuse_set_aside(path)
    if _is_run(path):
        return RunFolder(path.resolve())
    if path.is_dir():
        raise InputError(
            f"{_quote_odd(text)}: this folder holds no run (no config.toml in it); choose a run's own folder."
        )
    if is_report(path) and path.is_file():
        raise InputError(
            f"{_quote_odd(text)}: is a report; python -m training run {shlex.quote(text)} begins its run again."
        )
    if path.is_file():
        raise InputError(f"{_quote_odd(text)}: is a file; give the id, the name or the folder of a run.")
    folders = run_folders(workspace)
    exact = next((folder for folder in folders if folder.id == text), None)
    # The newest first, and no further than to the first of that name: each look at a name reads files.
    found = exact or next((folder for folder in reversed(folders) if _call(folder) == text), None)
    if found is not None:
        return found
    begun = choose_begun(text, folders, _quote_odd(text), "runs")
    if begun is not None:
        return begun
    near = difflib.get_close_matches(
        text, {each: None for folder in folders for each in (_call(folder), folder.id)}, n=1
    )
    if near:
        raise InputError(f"{_quote_odd(text)}: no such run in {workspace}; did you mean {_quote_odd(near[0])}?")
    recent = ", ".join(folder.id for folder in folders[-3:])
    hint = f"the newest {'are' if len(folders) > 1 else 'is'} {recent}." if recent else "there are no runs yet."
    raise InputError(f"{_quote_odd(text)}: no such run in {workspace}; {hint}")


def choose_begun(text: str, known: Sequence[Named], shown: str, kinds: str) -> Named | None:
    """The one whose id is ``text`` or begins with it; None where none does. Raises InputError where several do."""
    begun = [each for each in known if each.id == text] or [each for each in known if text and each.id.startswith(text)]
    if len(begun) > 1:
        ids = ", ".join(each.id for each in begun[:5])
        raise InputError(f"{shown}: several {kinds} begin like that ({ids}); type more of it.")
    return begun[0] if begun else None


def _call(folder: RunFolder) -> str:
    """What the run is called."""
    return read_about(folder).name or folder.read_status().name


def _refuse_set_aside(path: Path) -> None:
    """Raise InputError for what lies in a state that a run has set aside: nothing goes on from there."""
    for place in (path, *path.parents):
        if place.parent.name == SET_ASIDE and _is_run(place.parent.parent):
            run = shlex.quote(str(place.parent.parent))
            raise InputError(
                f"{_quote_odd(str(path))}: is set aside; bring it back first: python -m training restore {run} {place.name}"
            )


def find_checkpoint(text: str, workspace: Path) -> tuple[Path, str]:
    """A checkpoint's folder as given, or the best (else the last) one of the run that is meant. Where that is lost or
    damaged it is the newest whole one, and a sentence says so. Raises InputError where there is none."""
    path = parse_path(text)
    if path.parent.name == "checkpoints":
        finish_rewind(RunFolder(path.parent.parent))
        return path, ""
    if (path / MANIFEST).is_file():
        return path, ""
    folder = find_run(text, workspace)
    try:
        name = best_checkpoint(folder)
        if not name:
            raise InputError(f"The run {folder.id} has no checkpoint yet; let it train until it has saved one.")
        verify(folder.checkpoints / name)
        known = BEST in read_labels(folder)
        return (
            folder.checkpoints / name,
            "" if known else f"{folder.id}: {NO_BEST}; the last one, {name}, is taken instead.",
        )
    except CheckpointError as error:
        whole = next((path for path in checkpoint_folders(folder) if _is_whole(path)), None)
        if whole is None:
            raise
        why = error.message.partition(";")[0].removesuffix(".")
        return whole, f"{why}; the newest whole checkpoint, {whole.name}, is taken instead."


def _is_whole(checkpoint: Path) -> bool:
    try:
        verify(checkpoint)
    except CheckpointError:
        return False
    return True


def teacher_checkpoint(folder: Path) -> Path:
    """What ``objective.teacher`` means: ``folder`` itself, or of a run's folder its best checkpoint (else the last). Raises
    InputError where a run has none yet, and for a folder of something else."""
    if (folder / MANIFEST).is_file():
        return folder
    if not (folder / "checkpoints").is_dir() and not _is_run(folder):
        if folder.is_dir() and folder.parent.name != "checkpoints" and not (folder / WEIGHTS).exists():
            raise InputError(
                f"objective.teacher: {_quote_odd(str(folder))} is neither a run nor a checkpoint; choose the folder of one, or a "
                "Python file."
            )
        return folder  # of what is left of a checkpoint more can be said
    name = best_checkpoint(RunFolder(folder))
    if not name:
        raise InputError(f"objective.teacher: the run in {folder} has no checkpoint yet; choose another.")
    return folder / "checkpoints" / name


def with_teacher_found(
    overrides: Sequence[str], workspace: Path, folder: Path, data: Mapping[str, Toml] | None = None
) -> list[str]:
    """``overrides`` ("section.key=value") in which a run that teaches may be called by its name or id, as everywhere else,
    where nothing of that name lies in ``folder`` or here; so may the settings ``data`` of a file, which another override then
    puts right."""
    name = read_table(data or {}, "objective").get("teacher")
    own = f"{_TEACHER}={name}" if isinstance(name, str) else ""
    found = _teacher_found(own, workspace, folder)
    return [*([found] if found != own else []), *(_teacher_found(each, workspace, folder) for each in overrides)]


def _teacher_found(override: str, workspace: Path, folder: Path) -> str:
    key, _, value = override.partition("=")
    text = value.strip().strip("'\"")
    if key.strip() != _TEACHER or not text or Path(text).name != text or text.endswith(".py"):
        return override
    try:
        there = parse_path(text).exists() or (folder / text).exists()
        return override if there else f"{key}={find_run(text, workspace).path}"
    except (InputError, OSError, ValueError):  # no run: the check of paths says so
        return override


def find_target(text: str, workspace: Path) -> tuple[RunFolder, Path | None]:
    """What ``resume`` is given: a run, or one checkpoint of a run (then its folder comes second)."""
    path = parse_path(text)
    _refuse_set_aside(path)
    inside_run = path.parent.name == "checkpoints" and _is_run(path.parent.parent)
    if inside_run and (path.is_dir() or path.name.startswith("step-")):
        folder = RunFolder(path.parent.parent.resolve())
        finish_rewind(folder)
        return folder, path.resolve()
    if (path / MANIFEST).is_file():
        raise InputError(
            f"{_quote_odd(text)}: this checkpoint lies outside a run folder; resume needs the run it belongs to."
        )
    return find_run(text, workspace), None
