"""Checkpoints on a disk that is slower than they are due: none is left out, memory stays bounded, the cost is told once."""

from __future__ import annotations

import gc
import itertools
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.training.tiny import tiny
from training.checkpoints import manager as keep
from training.checkpoints import snapshot
from training.checkpoints.snapshot import Snapshot
from training.checkpoints.write import write_checkpoint
from training.config import RunConfig
from training.engine.recovery import disk_waits
from training.engine.recovery.disk_waits import DiskWaits
from training.engine.runs.run import Hooks, start_run
from training.errors import TrainingError
from training.events import CheckpointSaved, Event, Finding, PhaseChanged, Validated
from training.runs.folder import RunFolder
from training.runs.records.manifest import list_checkpoints

KEPT = "checkpoints.keep_last=1000"


def run(config: RunConfig, place: Path) -> tuple[RunFolder, list[int], list[Finding]]:
    """Train; the run's folder, the steps of its checkpoints in the order in which they were told, and its findings."""
    said: list[Event] = []
    record = start_run(config, place, Hooks(watch=said.append))
    assert record.status == "completed"
    saved = [event.step for event in said if isinstance(event, CheckpointSaved)]
    return RunFolder(Path(record.folder)), saved, [event for event in said if isinstance(event, Finding)]


def snapshots() -> list[Snapshot]:
    """Those that live in this process."""
    return [thing for thing in gc.get_objects() if type(thing) is Snapshot]


@pytest.fixture
def living(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A disk that takes a tenth of a second for each checkpoint; returns how many snapshots lived when it had."""
    counts: list[int] = []
    others = snapshots()  # of tests before, which hold some and may let go of them meanwhile

    def write_slowly(one: Snapshot, folder: Path) -> Path:
        time.sleep(0.1)
        counts.append(sum(all(one is not other for other in others) for one in snapshots()))
        return write_checkpoint(one, folder)

    monkeypatch.setattr(keep, "write_checkpoint", write_slowly)
    return counts


def wait_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever this machine does: a second passes between two saves, most of which is waiting."""
    after_save, seconds = DiskWaits.after_save, itertools.count()
    slow: Any = SimpleNamespace(waited=0.9, write_seconds=5.0)
    monkeypatch.setattr(disk_waits, "time", SimpleNamespace(perf_counter=lambda: next(seconds)))
    monkeypatch.setattr(DiskWaits, "after_save", lambda waits, step, _manager: after_save(waits, step, slow))


@pytest.mark.slow
def test_steps_far_faster_than_the_disk_are_all_saved_and_the_cost_is_told_once(
    tmp_path: Path, living: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    buffers: list[Any] = []
    new_buffer = snapshot._buffer

    def counted(*kind: Any) -> Any:
        buffers.append(kind)
        return new_buffer(*kind)

    monkeypatch.setattr(snapshot, "_buffer", counted)
    wait_for_the_disk(monkeypatch)
    folder, saved, findings = run(tiny("loop.epochs=4", "checkpoints.every_steps=1", KEPT), tmp_path)
    steps = [*range(1, 33)]
    assert saved == steps
    assert sorted(info.step for info in list_checkpoints(folder)) == steps
    assert set(living) == {1}
    assert len(buffers) < 40  # as many tensors as one checkpoint holds, not 32 times as many
    (told,) = (finding for finding in findings if "waits for the disk" in finding.title)
    assert told.fix == {"checkpoints.every_steps": 100}  # at least half as long again as the 50 steps of a write
    assert told.step == 3


def test_a_clock_too_coarse_for_a_step_fails_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_waits, "time", SimpleNamespace(perf_counter=lambda: 7.0, monotonic=lambda: 7.0))
    _, saved, findings = run(tiny("loop.epochs=1", "checkpoints.every_steps=1", KEPT), tmp_path)
    assert saved == [*range(1, 9)]
    assert not [finding for finding in findings if "waits for the disk" in finding.title]


@pytest.mark.parametrize("every", [5, 7])
def test_checkpoints_are_at_exactly_the_steps_asked_for(tmp_path: Path, every: int) -> None:
    settings = ("loop.epochs=6", f"checkpoints.every_steps={every}", "loop.validate_every_steps=none", KEPT)
    folder, saved, _ = run(tiny(*settings), tmp_path)
    due = {*range(every, 49, every), 48}
    bests = {*range(8, 49, 8)}  # validated there; saved where it is the best so far
    assert due <= set(saved) <= due | bests
    assert sorted(info.step for info in list_checkpoints(folder)) == saved


@pytest.mark.parametrize(
    ("settings", "advised", "fixed"),
    [
        (("checkpoints.every_steps=none",), "one every", "checkpoints.every_steps"),
        (("checkpoints.every_steps=100000", "loop.validate_every_steps=1"), "validate less often", "loop.validate_every_steps"),
        (("checkpoints.every_steps=100000",), "faster disk", ""),
    ],
)  # fmt: skip
def test_the_advice_names_what_makes_checkpoints_so_frequent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: tuple[str, ...], advised: str, fixed: str
) -> None:
    wait_for_the_disk(monkeypatch)
    always_better = ("checkpoints.monitor=val/loss", "loop.epochs=3", "optimizer.lr=1e-4")
    _, _, findings = run(tiny(*settings, *always_better), tmp_path)
    (told,) = (finding for finding in findings if "waits for the disk" in finding.title)
    assert advised in told.advice
    assert list(told.fix) == ([fixed] if fixed else [])


def test_nothing_is_saved_into_a_folder_that_was_lost_even_if_asked_for(tmp_path: Path) -> None:
    hooks = Hooks()

    def lose(event: Event) -> None:
        if isinstance(event, Validated):  # before what is due at this step is saved
            hooks.control.give_up(TrainingError("The run was taken over."))
            hooks.control.save = True

    hooks.watch = lose
    record = start_run(tiny("checkpoints.every_steps=4"), tmp_path, hooks)
    assert record.status == "failed"
    assert [info.step for info in list_checkpoints(RunFolder(Path(record.folder)))] == [4]


def test_nothing_is_saved_into_a_folder_that_is_lost_while_the_run_is_paused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = Hooks()
    phases: list[str] = []

    def lose() -> None:
        if "paused" in phases:
            hooks.control.give_up(TrainingError("The run was taken over."))
            hooks.control.save = True

    hooks.watch = lambda event: phases.append(event.phase) if isinstance(event, PhaseChanged) else None
    hooks.control.paused.set()
    monkeypatch.setattr(hooks.control, "poll", lose)
    record = start_run(tiny("checkpoints.every_steps=4"), tmp_path, hooks)
    assert record.status == "failed"
    assert [info.step for info in list_checkpoints(RunFolder(Path(record.folder)))] == []
