"""Hostile files in a run folder: listed, shown, watched and resumed, nothing breaks and nothing leaves the folder."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest

from tests.cases import some_of
from tests.reliability.hostile.material import Run
from tests.reliability.hostile.run_folders import PLACES, RECORDS, TEXTS
from tests.reliability.hostile.trial import attempt
from training.control import Command, send
from training.errors import InputError
from training.runs.folder import RunFolder, owner_of
from training.runs.index import Index
from training.runs.records.history import read_history
from training.runs.records.manifest import list_checkpoints
from training.runs.records.series import FLUSH_ROW, read_series

pytestmark = pytest.mark.timeout(120)


def look(run: Run) -> None:
    """All that the command line and the window read of a run without working on it."""
    workspace = run.path.parent.parent
    for command in (("show", run.path), ("show", run.path, "--json"), ("runs", "--workspace", workspace)):
        outcome = attempt(*command)
        outcome.judge(0, 2)
        if command[-1] == "--json" and outcome.code == 0:
            json.loads(outcome.out)
    folder = RunFolder(run.path)
    owner_of(folder.path)
    list_checkpoints(folder)
    index = Index(workspace)
    assert all(record.run == run.path.name and record.folder == str(run.path) for record in index.runs())
    index.close()
    for read in (
        lambda: read_history(folder.events_file),
        lambda: read_series(folder.series_file),
        lambda: read_series(folder.telemetry_file, FLUSH_ROW),
    ):
        try:
            read()
        except (InputError, OSError):  # what the window shows or logs
            continue


@pytest.mark.parametrize("name", some_of([*TEXTS, *RECORDS], 12))
def test_hostile_content_is_looked_at_in_peace(name: str, run: Run) -> None:
    (TEXTS | RECORDS)[name](run)
    look(run)


@pytest.mark.parametrize("name", some_of(RECORDS, 8))
def test_hostile_content_is_resumed_or_refused(name: str, run: Run) -> None:
    RECORDS[name](run)
    attempt("resume", run.path).judge(0, 1, 2)  # 1: told while it worked


@pytest.mark.parametrize("name", some_of(PLACES, 6))
def test_a_run_is_worked_on_in_its_own_folder_only(name: str, run: Run) -> None:
    PLACES[name](run)
    look(run)
    with suppress(InputError):
        send(run.path, Command.STOP)
    attempt("resume", run.path).judge(2)
