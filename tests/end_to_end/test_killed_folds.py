"""The window killed while runs examine a training part: they end by themselves, and are gone on with."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest
from filelock import FileLock

from tests.end_to_end.steps import steps
from tests.end_to_end.test_crashes import start
from tests.training.blobs import write_blobs
from training.cli import main
from training.engine.runs.run import start_run
from training.labels.progress import fold_folder
from training.predictions.suspicious import read_found
from training.runs.folder import RunFolder

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name == "nt", reason="signals")]


def find_starts(run: RunFolder) -> list[int]:
    """At which step each stretch of work on the run began."""
    events = map(json.loads, run.events_file.read_text().splitlines())
    return [event["step"] for event in events if event["kind"] == "attempt_started"]


def test_folds_of_a_killed_window_go_on_where_they_were(tmp_path: Path) -> None:
    config, flipped = write_blobs(tmp_path, epochs=100)
    run = RunFolder(Path(start_run(config, tmp_path / "ws").folder))
    assert start("killed", str(run.path)).returncode == -signal.SIGKILL
    with FileLock(run.labels / ".lock").acquire(timeout=60):  # nobody works on them any more
        first = fold_folder(run, 1)
        reached = len(steps(first))
        assert first.status().status == "stopped"
        assert not fold_folder(run, 2).series_file.exists()
        assert read_found(run) is None
    assert main(["labels", str(run.path), "--on", "train", "--folds", "2"]) == 0
    assert find_starts(first) == [0, reached]
    assert steps(first) == list(range(1, 601))
    found = read_found(run)
    assert found is not None
    assert flipped & {each.number for each in found.found[:10]}
