"""A run that the system would kill for its memory is warned of beforehand, and told of afterwards."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import psutil
import pytest

from tests.training.data.conftest import fill_class
from tests.training.tiny import tiny
from training.config import parse_config
from training.doctor import preflight
from training.engine.runs.run import Hooks, resume_run, start_run
from training.events import Event, Finding
from training.runs.folder import RunFolder
from training.runs.records.forms import StatusRecord
from training.runs.records.series import FLUSH_ROW, SeriesWriter, read_series
from training.system.host_memory import HostMemory

MB = 10**6


def pretend(monkeypatch: pytest.MonkeyPatch, look: Callable[[], HostMemory], often: bool = True) -> None:
    """Let runs and checks see ``look()`` where they ask the system; ``often``: at each flush."""
    for module in ("training.engine.recovery.memory_watch", "training.doctor.memory"):
        monkeypatch.setattr(import_module(module), "host_memory", look)
    watch = import_module("training.engine.recovery.memory_watch")
    monkeypatch.setattr(watch, "LOOK_SECONDS", 0.0 if often else 1e9)
    monkeypatch.setattr(import_module("training.engine.step_logger"), "ROW_SECONDS", 0.0)


def having(total: int, available: int) -> HostMemory:
    return HostMemory(total, available, "that this computer has")


def warnings(tmp_path: Path, *overrides: str) -> list[Finding]:
    said: list[Event] = []
    record = start_run(tiny("checkpoints.every_steps=2", *overrides), tmp_path, Hooks(watch=said.append))
    assert record.status == "completed"
    return [event for event in said if isinstance(event, Finding)]


def test_plenty_of_memory_is_not_mentioned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, lambda: having(16000 * MB, 9000 * MB))
    assert warnings(tmp_path) == []


def test_memory_that_is_nearly_full_is_told_once_with_what_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, lambda: having(16000 * MB, 700 * MB))
    [found] = warnings(tmp_path)
    assert found.level == "warning"
    assert "700 MB of the 16 GB that this computer has are free" in found.title
    assert found.fix == {"loop.batch_size": 16, "loop.accumulation": 2}
    assert "resume it with loop.batch_size = 16 and loop.accumulation = 2" in found.advice


def test_a_large_machine_is_not_nearly_full_with_gigabytes_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, lambda: having(512_000 * MB, 12_000 * MB))
    assert warnings(tmp_path) == []


def test_memory_that_shrinks_is_told_before_it_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    left = iter(range(6000, 0, -100))
    pretend(monkeypatch, lambda: having(16000 * MB, next(left) * MB))
    [found] = warnings(tmp_path)
    assert "Memory is running out" in found.title
    assert "will be gone in about" in found.title
    assert "mostly other programs" in found.title


def test_a_checkpoint_that_will_not_fit_is_told_before_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, lambda: having(16000 * MB, 1000), often=False)
    said: list[Event] = []
    start_run(tiny("checkpoints.every_steps=2", "loop.ema_decay=0.9"), tmp_path, Hooks(watch=said.append))
    [found] = [event for event in said if isinstance(event, Finding)]
    assert "Saving will need" in found.title
    weights = 2 * 16 + 16 + 16 * 16 + 16 + 16 * 3 + 3
    size = 4 * (4 * weights + 6)  # weights, their average, two moments; a count of steps for each of six tensors
    assert f"{size / 1000:.3g} kB" in found.title
    first_save = next(index for index, event in enumerate(said) if event.kind == "checkpoint_saved")
    assert said.index(found) < first_save


def test_a_check_tells_what_a_step_and_a_checkpoint_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny("model.hidden=[600, 600]", "loop.batch_size=240")
    [found] = [item for item in preflight(config, tmp_path) if item.title.startswith("Memory")]
    assert found.level == "ok"
    assert "4.37 MB for the copy that a checkpoint is written from" in found.title
    pretend(monkeypatch, lambda: having(16000 * MB, 3 * MB))
    [found] = [item for item in preflight(config, tmp_path) if item.title.startswith("Memory")]
    assert found.level == "warning"
    assert "of the 16 GB that this computer has only 3 MB are free" in found.title


def vanish(record: StatusRecord, held: int) -> RunFolder:
    """What a process that the system killed while it held ``held`` bytes leaves: no last word."""
    folder = RunFolder(Path(record.folder))
    lines = folder.events_file.read_bytes().splitlines(keepends=True)
    assert b'"completed"' in lines[-1]
    folder.events_file.write_bytes(b"".join(lines[:-1]))
    rows = read_series(folder.telemetry_file, FLUSH_ROW).copy()
    rows["memory_mb"][-1] = held / 2**20
    os.truncate(folder.telemetry_file, 0)
    writer = SeriesWriter(folder.telemetry_file, FLUSH_ROW)
    writer.append(np.asarray(rows))
    writer.close()
    return folder


@pytest.mark.parametrize(("share", "told"), [(0.9, True), (0.3, False)])
def test_a_run_that_vanished_with_memory_nearly_full_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float, told: bool
) -> None:
    monkeypatch.setattr(import_module("training.engine.step_logger"), "ROW_SECONDS", 0.0)
    folder = vanish(start_run(tiny(), tmp_path), int(share * psutil.virtual_memory().total))
    said: list[Event] = []
    resume_run(str(folder.path), tmp_path, hooks=Hooks(watch=said.append))
    found = [event for event in said if isinstance(event, Finding) and "exited unexpectedly" in event.title]
    assert bool(found) == told
    if told:
        started = next(index for index, event in enumerate(said) if event.kind == "attempt_started")
        assert said.index(found[0]) == started + 1
        assert "after step 24" in found[0].title
        assert "memory was nearly full" in found[0].title
    again: list[Event] = []
    resume_run(str(folder.path), tmp_path, hooks=Hooks(watch=again.append))
    assert not [event for event in again if isinstance(event, Finding) and "exited unexpectedly" in event.title]


def test_a_vanished_run_that_read_its_cache_may_have_lost_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("training.engine.step_logger"), "ROW_SECONDS", 0.0)
    for number, name in enumerate(("apple", "bear")):
        fill_class(tmp_path / "pictures" / name, 20, seed=100 * number)
    time.sleep(0.1)  # files of this very moment are not kept in a cache
    dataset = {"kind": "image_folder", "path": str(tmp_path / "pictures")}
    loader = {"mode": "streamed", "cache": "on", "cache_folder": str(tmp_path / "cache")}
    config = parse_config({"dataset": dataset, "loader": loader, "loop": {"epochs": 2}, "model": {"kind": "mlp"}})
    folder = vanish(start_run(config, tmp_path), 1)
    said: list[Event] = []
    resume_run(str(folder.path), tmp_path, hooks=Hooks(watch=said.append))
    [found] = [event for event in said if isinstance(event, Finding) and "exited unexpectedly" in event.title]
    assert (found.level, found.fix) == ("info", {"loader.cache": "off"})
    assert found.advice.startswith("Where the system spoke of a bus error, it was probably a file of the cache")


def test_a_vanished_run_repeats_the_advice_of_its_last_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        pretend(patch, lambda: having(16000 * MB, 700 * MB))
        record = start_run(tiny(), tmp_path)
    folder = vanish(record, 1)
    said: list[Event] = []
    resume_run(str(folder.path), tmp_path, hooks=Hooks(watch=said.append))
    [found] = [event for event in said if isinstance(event, Finding) and "exited unexpectedly" in event.title]
    assert found.fix == {"loop.batch_size": 16, "loop.accumulation": 2}
    assert replace(found, title="").advice.startswith("The system ends programs when memory runs out.")
