"""Going back to an older checkpoint, and restoring what lay beyond, killed at their file operations and resumed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.reliability.kills.comparison import compare
from tests.reliability.kills.engine import attempt
from tests.reliability.kills.moments import Trigger
from tests.training.tiny import tiny
from training.engine.runs.run import resume_run, start_run
from training.runs.folder import RunFolder
from training.runs.rewind import list_set_aside

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the harness looks into /proc")
CONFIG = tiny("checkpoints.keep_last=4")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Of 24 steps, gone back from there to step 16 and trained again to the end."""
    workspace = tmp_path_factory.mktemp("workspace")
    folder = RunFolder(Path(start_run(CONFIG, workspace).folder))
    resume_run(str(folder.checkpoints / "step-00000016"), workspace)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("every", [3, 1])
@pytest.mark.parametrize(("what", "least"), [("step-00000016", 90), ("steps-17-24", 50)])
def test_killed_at_its_file_operations_one_of_both_states_is_whole(
    tmp_path: Path, run: RunFolder, what: str, least: int, every: int
) -> None:
    command = [sys.executable, "-m", "tests.reliability.rewinds", str(run.path), what, str(tmp_path), str(every)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    assert told["faults"] == []
    assert told["moments"] >= least // every
    assert told["before"] > 0
    assert told["after"] > 0


BEFORE, DONE, HALF_WAY = (
    Trigger("rename", r"/\.tmp-[^/]* -> .*/steps-17-24$", "before"),
    Trigger("rename", r"/\.tmp-[^/]* -> .*/steps-17-24$", "after"),
    Trigger("rename", r"/checkpoints -> .*/steps-17-24/checkpoints$", "after"),
)


@pytest.mark.slow
@pytest.mark.parametrize("trigger", [BEFORE, DONE, HALF_WAY], ids=["before", "done", "half-way"])
def test_a_resume_killed_while_it_goes_back_is_the_same_run_in_the_end(tmp_path: Path, trigger: Trigger) -> None:
    whole = start_run(CONFIG, tmp_path / "whole")
    before = start_run(CONFIG, tmp_path)
    folder, other = RunFolder(Path(before.folder)), RunFolder(Path(whole.folder))
    ended = attempt(["resume", str(folder.checkpoints / "step-00000016")], tmp_path, trigger)
    assert ended.killed, ended.errors
    gone_back = trigger is not BEFORE
    resumed = attempt(["resume", folder.id], tmp_path)
    assert resumed.code == 0, resumed.errors
    assert ("resumed at step 16" in resumed.errors) == gone_back
    assert len(list_set_aside(folder)) == gone_back
    differences = compare(folder, other, before, whole).differences
    assert [line for line in differences if not line.startswith("files.set_aside")] == []
