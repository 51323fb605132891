"""The second run of one engine process: on the data of the first where nothing about it changed, and to the bit."""

from __future__ import annotations

import gzip
import os
import time
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file

from tests.training.test_serve import child, read, write
from tests.training.tiny import tiny, tiny_images, write_idx
from training.cli import main
from training.config import RunConfig
from training.config.files import config_data, save_config
from training.protocol.messages import Finished, Reply, RunRequest
from training.runs.folder import RunFolder
from training.runs.records.series import read_series
from training.runs.workspace import run_folders
from training.serve import serve

__all__ = ["child"]

TAKEN = "taking the data of the last run"


def train(process: Any, config: RunConfig, workspace: Path) -> RunFolder:
    """A whole run of the child process."""
    write(process, {"id": 1, "action": "run", "config": config_data(config), "workspace": str(workspace)})
    folder = RunFolder(Path(read(process)["folder"]))
    finished = read(process)
    assert finished["result"]["status"] == "completed", finished
    assert finished["reusable"]
    return folder


def reused(folder: RunFolder) -> bool:
    return TAKEN in folder.events_file.read_text(encoding="utf-8")


def same_results(one: RunFolder, other: RunFolder) -> bool:
    """Whether every checkpoint's weights and every row of the series agree to the bit."""
    steps = sorted(path.name for path in one.checkpoints.iterdir())
    assert steps == sorted(path.name for path in other.checkpoints.iterdir())
    for step in steps:
        first, second = (load_file(folder.checkpoints / step / "model.safetensors") for folder in (one, other))
        if not all(first[name].equal(second[name]) for name in first):
            return False
    return read_series(one.series_file).tobytes() == read_series(other.series_file).tobytes()


def test_the_second_run_takes_the_data_and_is_the_first_to_the_bit(child: Any, tmp_path: Path) -> None:
    assert read(child)["reply"] == "ready"
    config = tiny()
    write(child, {"id": 1, "action": "check", "config": config_data(config), "workspace": str(tmp_path / "runs")})
    read(child)
    first = train(child, config, tmp_path / "runs")
    assert reused(first)  # what was checked need not be opened again
    # Another run in between, with other settings of everything, leaves no trace.
    other = train(child, tiny("seed=9", "loop.batch_size=20", "precision.threads=1"), tmp_path / "runs")
    assert reused(other)
    second = train(child, config, tmp_path / "runs")
    assert reused(second)
    assert same_results(first, second)
    save_config(config, tmp_path / "config.toml")
    assert main(["run", str(tmp_path / "config.toml"), "--workspace", str(tmp_path / "alone")]) == 0
    assert same_results(second, run_folders(tmp_path / "alone")[0])


@pytest.mark.slow
def test_a_file_that_changed_between_two_runs_is_read_again(child: Any, tmp_path: Path) -> None:
    assert read(child)["reply"] == "ready"
    data = write_idx(tmp_path / "data")
    labels = data / "train-labels-idx1-ubyte.gz"
    config = tiny_images(data, "loop.epochs=1")
    time.sleep(3.1)  # files that were written just now are never kept
    first = train(child, config, tmp_path / "runs")
    second = train(child, config, tmp_path / "runs")
    assert not reused(first)
    assert reused(second)
    assert same_results(first, second)
    before = labels.stat()
    content = bytearray(gzip.decompress(labels.read_bytes()))
    content[8], content[9] = content[9], content[8]
    labels.write_bytes(gzip.compress(bytes(content)))
    os.utime(labels, ns=(before.st_atime_ns, before.st_mtime_ns))
    third = train(child, config, tmp_path / "runs")
    assert not reused(third)
    assert not same_results(second, third)


def test_a_run_that_failed_leaves_no_engine_for_the_next(tmp_path: Path) -> None:
    wild = ("optimizer.kind=sgd", "optimizer.lr=100.0", "optimizer.weight_decay=10.0", "schedule.kind=constant")
    config = tiny(*wild, "loop.clip_norm=none", "loop.max_skipped_steps=3", "loop.epochs=8")
    replies: list[Reply] = []
    serve([RunRequest(config=config_data(config), workspace=tmp_path)], replies.append)
    finished = replies[-1]
    assert isinstance(finished, Finished)
    assert finished.result.status == "failed"
    assert not finished.reusable
