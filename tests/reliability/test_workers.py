"""Worker processes killed, and an engine stopped for a while: the run is the one that nobody disturbed."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter

from tests.reliability.mortal import Mortal
from tests.training.tiny import tiny
from training.config import RunConfig, save_config
from training.data.batching import workers as data_workers
from training.data.batching.streamed import Streamed
from training.engine.runs.run import Hooks, start_run
from training.errors import TrainingError
from training.events import EpochEnded, Event, Finding, Validated
from training.runs.folder import RunFolder
from training.runs.records.manifest import list_checkpoints, read_manifest
from training.runs.records.series import read_series
from training.runs.workspace import run_folders

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="kills the fork server's children")

SHAPES = (
    'dataset={kind="shapes", samples=600, image_size=16, flip=true}',
    'model={kind="small_cnn", channels=[4, 4], hidden=8, dropout=0.2}',
    "loop.batch_size=10",
)


@pytest.fixture
def quick_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch looks after its workers every five seconds; here ten times a second."""
    monkeypatch.setattr(_MultiProcessingDataLoaderIter._try_get_data, "__defaults__", (0.1,))


def workers() -> list[psutil.Process]:
    """The processes that read samples: children of the fork server, which is a child of this one."""
    mine = psutil.Process()
    return [process for process in mine.children(recursive=True) if process.ppid() != mine.pid]


def kill(victims: list[psutil.Process]) -> None:
    assert victims, "there is nobody to kill"
    for victim in victims:
        victim.kill()


def shapes(*overrides: str) -> RunConfig:
    return tiny(*SHAPES, *overrides)


def outcome(folder: RunFolder) -> tuple[dict[str, Any], bytes, dict[str, Any]]:
    """Digests of the last checkpoint, the series, the metrics."""
    newest = list_checkpoints(folder)[0]
    return read_manifest(newest.path).files, read_series(folder.series_file).tobytes(), dict(newest.metrics)


def run(config: RunConfig, workspace: Path, watch: Callable[[Event], None] = lambda event: None) -> RunFolder:
    return RunFolder(Path(start_run(config, workspace, Hooks(watch=watch)).folder))


@pytest.mark.slow
@pytest.mark.usefixtures("quick_look")
def test_killed_workers_are_replaced_and_no_number_differs(tmp_path: Path) -> None:
    """In the middle of an epoch one of two workers dies, between two epochs all, and then the fork server."""
    undisturbed = outcome(run(shapes("loader.mode=resident", "loop.validate_every_steps=10"), tmp_path / "whole"))
    found: list[Finding] = []
    deaths: list[str] = []

    def watch(event: Event) -> None:
        if isinstance(event, Finding):
            if "worker process" in event.title:  # others judge how so short a run learns
                found.append(event)
        elif isinstance(event, Validated) and event.step == 10:
            kill(workers()[:1])
            deaths.append("one worker")
        elif isinstance(event, EpochEnded) and event.epoch == 1:
            kill(workers())
            deaths.append("all workers")
        elif isinstance(event, Validated) and event.step == 110:
            kill([worker.parent() for worker in workers()][:1])
            deaths.append("the fork server")

    config = shapes("loader.mode=streamed", "loader.workers=2", "loop.validate_every_steps=10")
    folder = run(config, tmp_path / "killed", watch)
    assert deaths == ["one worker", "all workers", "the fork server"]
    assert outcome(folder) == undisturbed
    assert folder.status().status == "completed"
    assert 3 <= len(found) <= 6  # those that train and those that evaluate, at most once a pass each
    assert {finding.level for finding in found} == {"warning"}
    assert "no sample was lost" in found[0].title
    assert "loader.workers" in found[0].advice


@pytest.mark.slow
@pytest.mark.usefixtures("quick_look")
@pytest.mark.parametrize("deaths", [2, 3])
def test_the_third_death_without_a_batch_in_between_is_the_last(tmp_path: Path, deaths: int) -> None:
    for life in range(deaths):
        (tmp_path / str(life)).touch()
    feed = Streamed(Mortal(tmp_path), torch.device("cpu"), workers=1, prefetch_factor=3)
    passing = feed.iterate("train", torch.arange(6), [(0, 2), (2, 4), (4, 6)])
    if deaths == 3:
        with pytest.raises(
            TrainingError, match=r"ended unexpectedly, 3 times in a row.*short.*loader\.workers"
        ) as caught:
            list(passing)
        assert caught.value.fix == {"loader.workers": 0}
    else:
        assert [raw.samples.flatten().tolist() for raw in passing] == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    assert len(feed.notices) == 1
    assert list(tmp_path.iterdir()) == []
    feed.close()


@pytest.mark.slow
def test_an_engine_stopped_for_a_while_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    """SIGSTOP, as a laptop's lid or a debugger does it; its workers go on, fill their queues and wait. 35 seconds are more
    than any part of the engine looks back."""
    config = shapes("loader.mode=streamed", "loader.workers=2", "loop.epochs=15")
    undisturbed = outcome(run(shapes("loader.mode=resident", "loop.epochs=15"), tmp_path / "whole"))
    save_config(config, tmp_path / "config.toml")
    command = [sys.executable, "-m", "training", "run", str(tmp_path / "config.toml"), "--workspace", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            folder = wait_for_steps(tmp_path, 50, process)
            os.kill(process.pid, signal.SIGSTOP)
            while psutil.Process(process.pid).status() != psutil.STATUS_STOPPED:
                time.sleep(0.01)
            rows = len(read_series(folder.series_file))
            time.sleep(35)
            assert len(read_series(folder.series_file)) == rows
            assert folder.status().status == "running"
            os.kill(process.pid, signal.SIGCONT)
            assert process.wait(timeout=200) == 0
        finally:
            process.kill()
    assert rows < len(read_series(folder.series_file)), "the run was over before it was stopped"
    assert outcome(folder) == undisturbed


def wait_for_steps(workspace: Path, steps: int, process: subprocess.Popen[bytes]) -> RunFolder:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        for folder in run_folders(workspace):
            if len(read_series(folder.series_file)) >= steps:
                return folder
        assert process.poll() is None, "the run ended before it could be stopped"
        time.sleep(0.002)
    raise AssertionError("the run did not get going in time")


def test_there_is_room_for_the_workers_that_validate_before_others_train(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A set of one takes 14 files; it is not a trained epoch later that the second set finds no room."""
    monkeypatch.setattr(data_workers, "free_files", lambda: 27)
    record = start_run(shapes("loader.mode=streamed", "loader.workers=1"), tmp_path)
    assert (record.status, record.step) == ("failed", 0)
    assert record.reason == "Too many files are open for loader.workers = 1 (only 27 more may be)."


@pytest.mark.slow
def test_too_many_open_files_are_named_as_the_cause(tmp_path: Path) -> None:
    config = tmp_path / "shapes.toml"
    save_config(shapes("loader.mode=streamed", "loader.workers=2", "loop.epochs=1"), config)
    words = [sys.executable, "-m", "training", "run", str(config), "--workspace", str(tmp_path / "runs")]
    command = f"ulimit -n 28; exec {shlex.join(words)}"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=200, check=False)
    assert ended.returncode == 1
    assert "Too many files are open for loader.workers = 2" in ended.stderr
    assert "--set loader.workers=0" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "memory is short" not in ended.stderr
