"""One run, one process: whoever comes second is told of the first, whatever the clock says and however close they come."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.training.tiny import tiny
from training.config import RunConfig, save_config
from training.engine.runs.run import start_run
from training.runs.folder import RunFolder, create_run
from training.runs.index import Index
from training.runs.records.history import read_history
from training.runs.records.manifest import checkpoint_folders, read_manifest
from training.runs.records.series import read_series
from training.runs.workspace import run_folders

COMMAND = [sys.executable, "-m", "training"]
HOURS = 3600.0

CLAIMS = """
import sys, time
from pathlib import Path
from training.errors import RunBusyError
from training.runs.folder import RunFolder, claim
folder, go = RunFolder(Path(sys.argv[1])), Path(sys.argv[2])
print("ready", flush=True)
while not go.exists():
    time.sleep(0.001)
try:
    claim(folder.path)
    print("claimed", flush=True)
    sys.stdin.readline()
except RunBusyError as error:
    print(error, flush=True)
"""

CLOCK = """
import os, time
import psutil
shift, real, real_ns = float(os.environ["CLOCK_SHIFT"]), time.time, time.time_ns
time.time = lambda: real() + shift
time.time_ns = lambda: real_ns() + int(shift * 1e9)
created = psutil.Process.create_time
psutil.Process.create_time = lambda self: created(self) + shift  # boot time is told by the clock, too
"""


def wait_until(true: Callable[[], Any], process: subprocess.Popen[Any]) -> None:
    deadline = time.monotonic() + 120
    while not true():
        assert process.poll() is None, "the run ended too early"
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_of_many_that_claim_in_the_same_moment_one_wins_and_is_named_to_the_others(tmp_path: Path) -> None:
    folder, go = create_run(tmp_path, RunConfig()), tmp_path / "go"
    many = [
        subprocess.Popen(
            [sys.executable, "-c", CLAIMS, str(folder.path), str(go)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(6)
    ]
    try:
        for process in many:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        go.touch()
        answers = {process.pid: process.stdout.readline() for process in many if process.stdout is not None}
    finally:
        for process in many:
            process.kill()
            process.communicate()
    [winner] = [pid for pid, answer in answers.items() if answer == "claimed\n"]
    for pid, answer in answers.items():
        assert pid == winner or f"process {winner} on" in answer, answer


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="creation times move with the clock on Linux only")
def test_a_clock_that_is_set_lets_nobody_in_and_changes_nothing(tmp_path: Path) -> None:
    config = tiny("loop.epochs=80", "loader.mode=resident", "checkpoints.keep_last=3", "checkpoints.every_steps=40")
    whole = RunFolder(Path(start_run(config, tmp_path / "whole").folder))
    (tmp_path / "clock").mkdir()
    (tmp_path / "clock" / "sitecustomize.py").write_text(CLOCK)
    save_config(config, tmp_path / "config.toml")
    workspace = tmp_path / "killed"

    def environment(shift: float) -> dict[str, str]:
        return os.environ | {"PYTHONPATH": str(tmp_path / "clock"), "CLOCK_SHIFT": str(shift)}

    def training(shift: float, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [*COMMAND, *arguments, "--workspace", str(workspace)]
        return subprocess.run(command, env=environment(shift), capture_output=True, text=True, check=False)

    run = [*COMMAND, "run", str(tmp_path / "config.toml"), "--workspace", str(workspace)]
    with subprocess.Popen(run, env=environment(0.0), stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: any(checkpoint_folders(folder) for folder in run_folders(workspace)), process)
            os.kill(process.pid, signal.SIGSTOP)
            [folder] = run_folders(workspace)
            before = json.loads((folder.path / "owner.json").read_text())
            refused = training(-5 * HOURS, "resume", folder.id)
            assert refused.returncode == 2
            assert f"process {process.pid} on {before['host']} since {before['since']}" in refused.stderr
            assert folder.status().status == "running"
            assert json.loads((folder.path / "owner.json").read_text()) == before
        finally:
            process.kill()

    other = create_run(workspace, RunConfig(name="made later"))
    resumed = training(-5 * HOURS, "resume", folder.id, "--json")
    assert resumed.returncode == 0, resumed.stderr
    assert read_series(folder.series_file).tobytes() == read_series(whole.series_file).tobytes()
    last = checkpoint_folders(whole)[0].name
    there, here = (read_manifest(run.checkpoints / last).files for run in (whole, folder))
    assert there == here
    validations = [
        [(item.step, item.metrics) for item in read_history(run.events_file).validations] for run in (whole, folder)
    ]
    assert validations[0] == validations[1]
    index = Index(workspace)
    assert [(item.run, item.status) for item in index.runs()] == [
        (other.id, "interrupted"),
        (folder.id, "completed"),
    ]
    index.close()
