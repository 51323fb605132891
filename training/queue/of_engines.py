"""Who needs an engine: runs that it computed, and entries of the queue that it was chosen for."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from training.engines.of_runs import find_dependents
from training.engines.search import Found, identify
from training.queue.store import Queue


class Dependents(NamedTuple):
    """``unfinished`` are the ids of runs that it computed last and would resume, ``waiting`` the names of what the queue has for it."""

    unfinished: list[str]
    waiting: list[str]


def name_dependents(found: Found, workspace: Path) -> Dependents:
    """Of this workspace. Raises InputError where its queue cannot be read."""
    if not workspace.is_dir():
        return Dependents([], [])
    wanted, waiting = identify(found.python), Queue(workspace).read().waiting
    return Dependents(
        [run.id for run in find_dependents(found, workspace)],
        [entry.name for entry in waiting if entry.python and identify(entry.python) == wanted],
    )
