"""A real process killed with SIGKILL in the middle of an epoch, resumed, and compared to the bit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.training.tiny import tiny_pictures, write_idx
from training.config import save_config
from training.runs.folder import RunFolder
from training.runs.history import read_history
from training.runs.manifest import list_checkpoints, read_manifest
from training.runs.series import read_series
from training.runs.workspace import run_folders

COMMAND = [sys.executable, "-m", "training"]


def finish(arguments: list[str]) -> dict[str, Any]:
    done = subprocess.run([*COMMAND, *arguments, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    record: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return record


def digests(record: dict[str, Any]) -> dict[str, str]:
    files = read_manifest(Path(record["last_checkpoint"]))["files"]
    return {name: facts["sha256"] for name, facts in files.items()}


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
@pytest.mark.parametrize("loader", ["resident", "streamed"])
def test_killed_in_epoch_three_and_resumed_is_the_unbroken_run(tmp_path: Path, loader: str) -> None:
    data = write_idx(tmp_path / "data", samples=900)
    config = tiny_pictures(
        data, "loop.epochs=5", "checkpoints.every_steps=7", f"loader.mode={loader}", "loader.workers=1"
    )
    save_config(config, tmp_path / "config.toml")
    whole = finish(["run", str(tmp_path / "config.toml"), "--workspace", str(tmp_path / "whole")])

    workspace = tmp_path / "killed"
    command = [*COMMAND, "run", str(tmp_path / "config.toml"), "--workspace", str(workspace)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        folder = wait_for_epoch(workspace, 2, process)
        helpers = psutil.Process(process.pid).children(recursive=True)
        os.kill(process.pid, signal.SIGKILL)
    assert loader == "resident" or helpers, "the streamed run has no worker to look at"
    assert psutil.wait_procs(helpers, timeout=30)[1] == [], "workers outlive the engine they read for"
    assert folder.status()["status"] == "interrupted"
    assert list_checkpoints(folder)[0].step < whole["step"]

    resumed = finish(["resume", folder.id, "--workspace", str(workspace)])
    assert resumed["run"] == folder.id
    assert digests(resumed) == digests(whole)
    assert resumed["metrics"] == whole["metrics"]
    series = read_series(folder.series_file)
    assert series["step"].tolist() == list(range(1, whole["step"] + 1))
    assert series.tobytes() == read_series(RunFolder(Path(whole["folder"])).series_file).tobytes()
    history = read_history(folder.events_file)
    assert [item.step for item in history.epochs] == [12, 24, 36, 48, 60]
    assert not list(folder.checkpoints.glob(".*"))


def wait_for_epoch(workspace: Path, epoch: int, process: subprocess.Popen[bytes]) -> RunFolder:
    """The run's folder, once its series shows that the zero-based ``epoch`` is under way."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        for folder in run_folders(workspace):
            rows = read_series(folder.series_file)
            if len(rows) and rows["epoch"][-1] >= epoch and list_checkpoints(folder):
                return folder
        assert process.poll() is None, "the run ended before it could be killed"
        time.sleep(0.002)
    raise AssertionError("the run did not reach the epoch in time")
