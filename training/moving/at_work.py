"""Whether anybody works in a workspace: by the claims and locks that whoever does holds."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from training.errors import InputError
from training.moving.windows import refuse_windows
from training.queue.store import Queue
from training.queue.workers import workers
from training.runs.owner import OWNER_FILE, owner_of
from training.studies.folder import list_studies
from training.system.locks import look_for_holder
from training.system.untrusted import escape_unprintable


def refuse_work(workspace: Path) -> None:
    """Raise InputError, naming it, while a run, a study, a sweep, the queue or something else of ``workspace`` is at work, or another
    process's window has it open."""
    what = find_work(workspace)
    if what:
        raise InputError(f"The workspace cannot be moved now: {what} is at work; stop it, or wait for its end.")
    refuse_windows(workspace)


def find_work(workspace: Path) -> str:
    """What is at work there; "" where nothing is."""
    for place in _claims(workspace):
        if owner_of(place) is not None:
            kind, name = (
                ("the run", place.name) if place.parent.name == "runs" else ("the sweep", place.parents[1].name)
            )
            return f"{kind} {escape_unprintable(name, 80)}"
    if workers(Queue(workspace)):
        return "the queue"
    for study in list_studies(workspace):
        if study.is_claimed():
            return f"the study {study.id}"
    return next(
        (f"what holds {escape_unprintable(str(path), 300)}" for path in _locks(workspace) if _is_held(path)), ""
    )


def _claims(workspace: Path) -> Iterator[Path]:
    """Folders of runs and of a sweep's trials that somebody has, or had."""
    for pattern in (f"runs/*/{OWNER_FILE}", f"sweeps/*/trials/*/{OWNER_FILE}"):
        for claim in sorted(workspace.glob(pattern)):
            yield claim.parent


def _locks(workspace: Path) -> Iterator[Path]:
    """Held by who measures, sends, copies, exports or proves something of a run, or changes the queue."""
    for folder, _, names in os.walk(workspace):
        yield from (Path(folder) / name for name in names if name.endswith(".lock"))


def _is_held(path: Path) -> bool:
    try:
        with look_for_holder(path) as is_held:
            return is_held
    except OSError:  # a folder that cannot be written: nobody can work there
        return False
