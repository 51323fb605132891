"""Keeping checkpoints: in order, behind the loop's back, whole; faults of the writing thread reach the loop in words."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import torch

from tests.training.small_files import files_no_larger_than
from training.checkpoints import CheckpointManager, load, newest_good
from training.checkpoints.snapshot import Snapshot, TrainingState
from training.config import RunConfig
from training.errors import TrainingError
from training.events import CheckpointSaved
from training.runs.folder import RunFolder, create_run
from training.runs.records import manifest
from training.runs.records.forms import Manifest
from training.runs.records.manifest import (
    MANIFEST,
    STATE,
    WEIGHTS,
    checkpoint_name,
    list_checkpoints,
    read_labels,
    read_manifest,
    verify,
)

if sys.platform != "win32":
    pass

STATE_OF_NOTHING: dict[str, Any] = {"progress": {}, "optimizer": {}, "rng": {}}


def snapshot(step: int, value: float = 0.0, weights: int = 4, state: int = 4) -> Snapshot:
    return Snapshot(
        step=step,
        epoch=0,
        weights={"w": torch.full((weights,), value)},
        averaged={},
        state=cast(TrainingState, STATE_OF_NOTHING | {"numbers": torch.full((state,), value)}),
        metrics={},
        facts={"config": {}, "data": {"fingerprint": ""}},
    )


def planned(step: int) -> Snapshot:
    """One that the run's own rules called for."""
    unasked = snapshot(step)
    return replace(unasked, facts={**unasked.facts, "planned": True})


@pytest.fixture
def saved() -> list[CheckpointSaved]:
    return []


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return create_run(tmp_path, RunConfig())


@pytest.fixture
def manager(folder: RunFolder, saved: list[CheckpointSaved]) -> Iterator[CheckpointManager]:
    manager = CheckpointManager(folder, 3, saved.append)
    yield manager
    manager.close()


@pytest.mark.skipif(sys.platform == "win32", reason="has no limit on a file's size")
@pytest.mark.parametrize("large", ["weights", "state"])
def test_a_full_disk_is_explained_and_leaves_nothing_half_written(
    folder: RunFolder, manager: CheckpointManager, large: str
) -> None:
    manager.save(snapshot(1), best=True)
    manager.finish()
    labels = read_labels(folder)
    with files_no_larger_than(1 << 16):
        manager.save(snapshot(2, **{large: 1 << 20}), best=True)
        with pytest.raises(TrainingError, match="could not be written") as caught:
            manager.finish()
    assert "resume" in caught.value.advice
    assert read_labels(folder) == labels
    assert [path.name for path in folder.checkpoints.iterdir()] == [checkpoint_name(1)]


def test_the_next_copy_waits_for_the_snapshot_before_and_all_are_written_in_order(
    manager: CheckpointManager, saved: list[CheckpointSaved]
) -> None:
    disk, copied, content = threading.Event(), threading.Event(), [torch.zeros(8)]
    first = manager.copy(content).content[0]
    manager.save(snapshot(1), best=False, first=lambda: assert_set(disk))
    places = []

    def go_on() -> None:
        for step in range(2, 6):
            places.append(manager.copy(content).content[0].data_ptr())
            copied.set()
            manager.save(snapshot(step, float(step)), best=step == 2)

    loop = threading.Thread(target=go_on)
    loop.start()
    assert not copied.wait(0.3)
    assert saved == []
    disk.set()
    loop.join(60)
    manager.finish()
    assert [event.step for event in saved] == [1, 2, 3, 4, 5]
    assert [event.labels for event in saved] == [("last",), ("last", "best"), ("last",), ("last",), ("last",)]
    assert places == 4 * [first.data_ptr()]


def assert_set(event: threading.Event) -> None:
    """Wait for ``event``, which must come."""
    assert event.wait(60)


def test_what_a_checkpoint_refers_to_is_durable_before_it_appears(
    folder: RunFolder, manager: CheckpointManager
) -> None:
    seen: list[list[Path]] = []
    manager.save(snapshot(1), best=False, first=lambda: seen.append(list(folder.checkpoints.iterdir())))
    manager.finish()
    assert seen == [[]]

    def fail() -> None:
        raise OSError(5, "Input/output error")

    manager.save(snapshot(2), best=True, first=fail)
    with pytest.raises(TrainingError, match="Input/output error"):
        manager.finish()
    assert read_labels(folder) == {"last": checkpoint_name(1)}
    assert not (folder.checkpoints / checkpoint_name(2)).exists()


@pytest.mark.parametrize(
    "fault",
    [
        RuntimeError("CUDA error: an illegal memory access was encountered"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes."),
        OSError(12, "Cannot allocate memory"),
    ],
)
def test_a_fault_that_is_not_the_disks_is_not_told_as_one(manager: CheckpointManager, fault: Exception) -> None:
    def fail() -> None:
        raise fault

    manager.save(replace(snapshot(1), wait_for_copies=fail), best=False)
    with pytest.raises(type(fault)) as caught:
        manager.finish()
    assert caught.value is fault


def test_a_fault_is_raised_at_the_next_save_without_waiting(manager: CheckpointManager) -> None:
    failed = threading.Event()

    def fail() -> None:
        failed.set()
        raise OSError(28, "No space left on device")

    manager.save(snapshot(1), best=False, first=fail)
    assert failed.wait(60)

    def go_on_saving() -> None:
        for step in range(2, 1000):
            manager.save(snapshot(step), best=False)
            time.sleep(0.01)

    with pytest.raises(TrainingError, match="No space left"):
        go_on_saving()


def test_a_run_that_ends_for_another_reason_logs_the_checkpoint_it_could_not_write(
    folder: RunFolder, caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise OSError(28, "No space left on device")

    manager = CheckpointManager(folder, 3, lambda saved: None)
    manager.save(snapshot(1), best=False, first=fail)
    manager.close()
    assert "No space left on device" in caplog.text


def kept_steps(folder: RunFolder) -> list[int]:
    return sorted(info.step for info in list_checkpoints(folder))


@pytest.mark.parametrize(("rolls_back", "kept"), [(True, [1, 3]), (False, [3])])
def test_the_place_to_go_back_to_outlives_what_a_person_saves(
    folder: RunFolder, rolls_back: bool, kept: list[int]
) -> None:
    manager = CheckpointManager(folder, 1, lambda saved: None, rolls_back)
    manager.save(planned(1), best=False)
    for step in (2, 3):
        manager.save(snapshot(step), best=False)
    manager.finish()
    assert kept_steps(folder) == kept
    manager.save(planned(4), best=False)
    manager.close()
    assert kept_steps(folder) == [4]


def test_the_best_before_a_row_of_skips_is_the_best_again_after_going_back(folder: RunFolder) -> None:
    manager = CheckpointManager(folder, 1, lambda saved: None, rolls_back=True)
    manager.save(planned(1), best=True)
    manager.save(planned(2), best=False)
    manager.finish()
    manager.row_is_open = True
    manager.save(planned(3), best=True)  # validated for the first time since step 2, already in the row
    manager.rewind(folder.checkpoints / checkpoint_name(2))
    manager.relabel(checkpoint_name(2), best_step=1)
    assert read_labels(folder) == {"last": checkpoint_name(2), "best": checkpoint_name(1)}
    manager.save(planned(4), best=True)
    manager.close()
    assert kept_steps(folder) == [4]


def test_a_step_saved_again_with_the_same_content_is_left_alone(folder: RunFolder, manager: CheckpointManager) -> None:
    """Whoever reads it meanwhile must not find other files half-way; only its labels change."""
    path = folder.checkpoints / checkpoint_name(1)
    manager.save(snapshot(1), best=False)
    manager.finish()
    before = {file.name: (file.stat().st_ino, file.stat().st_mtime_ns) for file in path.iterdir()}
    assert set(before) == {WEIGHTS, STATE, MANIFEST}
    manager.save(snapshot(1), best=True)
    manager.finish()
    assert {file.name: (file.stat().st_ino, file.stat().st_mtime_ns) for file in path.iterdir()} == before
    assert read_labels(folder) == {"last": path.name, "best": path.name}
    assert [entry.name for entry in folder.checkpoints.iterdir()] == [path.name]


@pytest.mark.parametrize("damaged", [False, True])
def test_a_step_saved_again_replaces_what_differs(folder: RunFolder, manager: CheckpointManager, damaged: bool) -> None:
    path = folder.checkpoints / checkpoint_name(1)
    manager.save(snapshot(1), best=False)
    manager.finish()
    before = read_manifest(path).files
    if damaged:
        (path / WEIGHTS).write_bytes(b"\0" * (path / WEIGHTS).stat().st_size)
    manager.save(snapshot(1, 0.0 if damaged else 1.0), best=False)
    manager.finish()
    assert (verify(path).files == before) == damaged
    assert [entry.name for entry in folder.checkpoints.iterdir()] == [path.name]


def test_a_checkpoint_tidied_away_while_it_is_looked_at_is_not_a_damaged_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = create_run(tmp_path, RunConfig())
    manager = CheckpointManager(folder, 1, lambda saved: None)
    manager.save(snapshot(1), best=False)
    manager.finish()

    def look(path: Path) -> Manifest:
        if path.name == checkpoint_name(1):
            manager.save(snapshot(2), best=False)
            manager.finish()
        return verify(path)

    monkeypatch.setattr(load, "verify", look)
    found = newest_good(folder)
    manager.close()
    assert found is not None
    assert found.checkpoint == folder.checkpoints / checkpoint_name(2)
    assert (found.manifest.step, found.refused) == (2, [])


def test_of_many_kept_checkpoints_each_manifest_is_read_once(
    folder: RunFolder, saved: list[CheckpointSaved], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []

    def counted(path: Path) -> Manifest:
        read.append(path)
        return read_manifest(path)

    monkeypatch.setattr(manifest, "read_manifest", counted)
    manager = CheckpointManager(folder, 20, saved.append)
    for step in range(1, 31):
        manager.save(snapshot(step), best=step == 2)
        manager.finish()
    manager.close()
    assert read == [folder.checkpoints / checkpoint_name(step) for step in range(1, 31)]
    fresh = list_checkpoints(folder)
    assert [info.step for info in fresh] == [*range(30, 10, -1), 2]
    manifest.write_labels(folder, {"last": checkpoint_name(29)})
    (folder.checkpoints / checkpoint_name(12) / MANIFEST).write_text("{}")
    known = list_checkpoints(folder)
    assert [info.step for info in known] == [*range(30, 12, -1), 11, 2]
    assert [info.labels for info in known[:2]] == [(), ("last",)]
