"""Which engine computed a run, and which runs an engine computed."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path

from training.engines.search import Found, identify, name_environment
from training.errors import InputError
from training.runs.folder import RunFolder, owner_of
from training.runs.records.environment import newest_environment
from training.runs.records.history import read_history
from training.runs.workspace import run_folders

_OVER = ("completed", "failed")
"""Runs that nobody will go on with without changing them."""


@dataclass(frozen=True)
class RunEngine:
    """The engine of a run's newest attempt: its interpreter, and what it was called."""

    python: str
    name: str

    @property
    def is_gone(self) -> bool:
        """Whether its interpreter is not there any more."""
        return not Path(self.python).is_file()


def find_run_engine(run: RunFolder) -> RunEngine | None:
    """The engine that computed ``run`` last; None where nothing tells, or it was one of another machine."""
    environment = newest_environment(run, read_history(run.events_file).attempts)
    if not environment.executable or environment.host not in (None, socket.gethostname()):
        return None
    name = environment.engine or name_environment(Path(environment.executable))
    return RunEngine(environment.executable, name)


def find_dependents(found: Found, workspace: Path) -> list[RunFolder]:
    """The unfinished runs of ``workspace`` that were computed by it last, and would be resumed by it."""
    if not workspace.is_dir():
        return []
    wanted, dependents = identify(found.python), []
    for run in run_folders(workspace):
        if run.status().status not in _OVER:
            engine = find_run_engine(run)
            if engine is not None and identify(engine.python) == wanted:
                dependents.append(run)
    return dependents


def require_rest(found: Found, workspace: Path) -> None:
    """Raise InputError where it is training a run of ``workspace``, which would end with it."""
    for run in find_dependents(found, workspace):
        if owner_of(run.path) is not None:
            raise InputError(f"The engine {found.name} is training {run.id}.", "Stop that run first.")
