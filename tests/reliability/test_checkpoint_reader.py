"""A process that polls a run's checkpoints while they are written, replaced and deleted never sees half of one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
import torch

from tests.training.tiny import tiny
from training.checkpoints import CheckpointManager
from training.checkpoints.snapshot import Snapshot, TrainingState
from training.config import RunConfig
from training.engine.runs.run import Hooks, resume_run, start_run
from training.events import Event, Validated
from training.runs.folder import RunFolder, create_run
from training.runs.records.manifest import WEIGHTS, CheckpointInfo, list_checkpoints
from training.runs.rewind import list_set_aside


@contextmanager
def reader_of(folder: RunFolder, enough: Path) -> Iterator[dict[str, Any]]:
    """Polls meanwhile, and makes ``enough`` when it has seen that; the mapping holds what it saw, once the block is left."""
    command = [sys.executable, "-m", "tests.reliability.poll_checkpoints", str(folder.path), str(enough)]
    seen: dict[str, Any] = {}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "looking\n"
            yield seen
            output, _ = process.communicate(timeout=60)
            seen.update(json.loads(output))
        finally:
            process.kill()


def snapshot(step: int, value: float) -> Snapshot:
    return Snapshot(
        step=step,
        epoch=0,
        weights={"w": torch.full((100_000,), value)},
        averaged={"w": torch.full((100_000,), -value)},
        state=cast(
            TrainingState, {"progress": {}, "optimizer": {}, "rng": {}, "numbers": torch.full((100_000,), value)}
        ),
        metrics={},
        facts={"config": {}, "data": {"fingerprint": ""}},
    )


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere two folders cannot change places at once")
def test_a_step_saved_again_with_another_result_is_never_missing_or_mixed(tmp_path: Path) -> None:
    """Its only checkpoint is replaced over and over."""
    folder = create_run(tmp_path, RunConfig())
    manager = CheckpointManager(folder, 1, lambda saved: None)
    manager.save(snapshot(1, 0.0), best=True)
    manager.finish()
    with reader_of(folder, tmp_path / "enough") as seen:
        number = 0
        while number < 50 or not (tmp_path / "enough").exists():
            manager.save(snapshot(1, float(number)), best=number % 2 == 0)
            number += 1
        manager.finish()
    manager.close()
    assert seen["faults"] == []
    assert [path.name for path in folder.checkpoints.iterdir()] == ["step-00000001"]


@pytest.mark.slow
def test_new_and_deleted_checkpoints_are_whole_or_gone(tmp_path: Path) -> None:
    folder = create_run(tmp_path, RunConfig())
    manager = CheckpointManager(folder, 2, lambda saved: None)
    with reader_of(folder, tmp_path / "enough") as seen:
        step = 0
        while step < 50 or step % 10 or not (tmp_path / "enough").exists():
            step += 1
            manager.save(snapshot(step, float(step)), best=step % 10 == 0)
        manager.finish()
    manager.close()
    assert seen["faults"] == []
    assert [info.step for info in list_checkpoints(folder)] == [step, step - 1]


@pytest.mark.slow
def test_a_run_that_saves_every_step_and_is_taken_back(tmp_path: Path) -> None:
    """Saves at every step, at the person's wish and for the best; then the same steps once more, from further back."""
    hooks = Hooks()

    def save_now(event: Event) -> None:
        if isinstance(event, Validated):
            hooks.control.save = True

    hooks.watch = save_now
    config = tiny("checkpoints.every_steps=1", "checkpoints.keep_last=20", "loop.validate_every_steps=2")
    folder = RunFolder(Path(start_run(config, tmp_path, hooks).folder))
    before = {info.step: inode(info) for info in list_checkpoints(folder)}
    back = list_checkpoints(folder)[-1].path
    with reader_of(folder, tmp_path / "enough") as seen:
        assert resume_run(str(back), tmp_path).status == "completed"
    assert seen["faults"] == []
    assert seen["whole"] > 10
    (aside,) = list_set_aside(folder)
    kept = {info.step: inode(info) for info in list_checkpoints(RunFolder(aside.path))}
    assert kept == before, "what was set aside was to be left alone"
    assert [info.step for info in list_checkpoints(folder)] == list(before)


def inode(info: CheckpointInfo) -> int:
    """Which file its weights are."""
    return (info.path / WEIGHTS).stat().st_ino
