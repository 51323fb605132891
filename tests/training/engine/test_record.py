"""What a run wrote down of its last moments, however soon they came after the row before."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import psutil
import pytest
import torch

from tests.training.commands import json_line
from tests.training.tiny import tiny
from training import control as control_module
from training.cli import main
from training.console import Console
from training.control import Command, send
from training.data import Data, MicroBatches
from training.engine import slow_counters
from training.engine import step_logger as record
from training.engine.ranks.group import ALONE
from training.engine.runs.hooks import Hooks
from training.engine.runs.run import start_run
from training.errors import TrainingError, format_bytes
from training.events import Event
from training.runs.folder import RunFolder
from training.runs.records.forms import StatusRecord
from training.runs.records.gpu_memory import describe_gpu_memory
from training.runs.records.series import FLUSH_ROW, read_series


@pytest.fixture(autouse=True)
def one_row_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a run that ends just after a row of telemetry."""
    monkeypatch.setattr(record, "ROW_SECONDS", 1e9)
    monkeypatch.setattr(control_module, "POLL_SECONDS", 1e9)


def looks(folder: RunFolder) -> list[int]:
    """The steps at which the engine was looked at."""
    steps: list[int] = read_series(folder.telemetry_file, FLUSH_ROW)["step"].tolist()
    return steps


def folder_of(record_: StatusRecord) -> RunFolder:
    return RunFolder(Path(record_.folder))


def test_the_end_is_written_down(tmp_path: Path) -> None:
    ended = start_run(tiny("checkpoints.every_steps=8"), tmp_path)
    rows = read_series(folder_of(ended).telemetry_file, FLUSH_ROW)
    assert rows["step"].tolist() == [8, 24]  # after the first epoch, and at the end
    assert (rows["samples_per_second"] > 0).all()


def test_a_stop_is_written_down(tmp_path: Path) -> None:
    hooks = Hooks()

    def watch(event: Event) -> None:
        if event.kind == "epoch_ended" and getattr(event, "epoch", 0) == 2:
            hooks.control.request_stop()

    hooks.watch = watch
    stopped = start_run(tiny(), tmp_path, hooks)
    assert stopped.status == "stopped"
    assert looks(folder_of(stopped))[-1] == stopped.step == 16


def test_a_pause_is_written_down_before_it_is_told(tmp_path: Path) -> None:
    hooks, seen = Hooks(), []
    folders: list[RunFolder] = []

    def watch(event: Event) -> None:
        if event.kind == "epoch_ended" and getattr(event, "epoch", 0) == 2:
            hooks.control.paused.set()
        if event.kind == "phase_changed" and getattr(event, "phase", "") == "paused":
            seen.append(looks(folders[0]))
            threading.Timer(0.1, send, (folders[0].path, Command.CONTINUE)).start()

    hooks.started, hooks.watch = folders.append, watch
    ended = start_run(tiny(), tmp_path, hooks)
    assert ended.status == "completed"
    assert seen[0][-1] == 16


def test_what_a_failed_run_did_last_is_written_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Data.steps

    def breaking(data: Data, epoch: int, first: int = 0) -> Iterator[MicroBatches]:
        for number, window in enumerate(whole(data, epoch, first)):
            if (epoch, number) == (1, 3):
                raise TrainingError("An image is gone.")
            yield window

    monkeypatch.setattr(Data, "steps", breaking)
    failed = start_run(tiny("checkpoints.every_steps=100"), tmp_path)
    assert (failed.status, failed.reason, failed.step) == ("failed", "An image is gone.", 11)
    series = read_series(folder_of(failed).series_file)
    assert series["step"].tolist() == list(range(1, 12))
    assert (series["loss"] > 0).all()
    assert looks(folder_of(failed)) == [8, 11]


def test_gpu_memory_is_written_down_as_torch_tells_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a machine without a GPU: torch's functions answer as on one, and the session says that it is on one while it is looked at."""
    figures = {"memory_allocated": 300, "memory_reserved": 512, "max_memory_allocated": 450}
    for name, size in figures.items():
        monkeypatch.setattr(torch.cuda, name, lambda device, size=size: size * 2**20)
    reset: list[torch.device] = []
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", reset.append)
    ended = start_run(tiny(), tmp_path)
    folder = folder_of(ended)
    rows = read_series(folder.telemetry_file, FLUSH_ROW)
    assert not any(rows[name].any() for name in ("gpu_memory_mb", "gpu_allocated_mb", "gpu_peak_mb"))
    assert not reset
    assert describe_gpu_memory(rows[-1]) == ""

    session = SimpleNamespace(
        device=torch.device("cuda", 0),
        progress=SimpleNamespace(step=24),
        data=SimpleNamespace(waited=0.0),
        watches=(),
        ranks=ALONE,
    )
    folder.telemetry_file.unlink()
    written = iter((2**20, 6 * 2**20))
    monkeypatch.setattr(slow_counters, "find_spec", lambda name: name)
    monkeypatch.setattr(torch.cuda, "utilization", lambda device: 75)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: SimpleNamespace(uuid="1-2"))
    nvml = SimpleNamespace(
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByUUID={"GPU-1-2": "handle"}.__getitem__,
        nvmlDeviceGetCurrentClocksThrottleReasons={"handle": 0x20 | 0x04}.__getitem__,
    )
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.setattr(
        psutil.Process, "io_counters", lambda _: SimpleNamespace(write_bytes=next(written)), raising=False
    )
    logger = record.StepLogger(cast(Any, session), folder, cast(Any, None))
    assert reset == [torch.device("cuda", 0)]
    logger._row_seconds = 1.0
    logger.flush_all()
    logger.close()
    row = read_series(folder.telemetry_file, FLUSH_ROW)[-1]
    assert [row[name] for name in ("gpu_allocated_mb", "gpu_memory_mb", "gpu_peak_mb")] == [300, 512, 450]
    assert (row["gpu_share"], row["written_mb"], row["gpu_throttled"]) == (0.75, 5.0, 1.0)
    told = "315 MB allocated, 537 MB reserved, 472 MB peak"
    assert describe_gpu_memory(row) == told
    assert main(["show", ended.run, "--workspace", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert f"GPU memory {told}\n" in out
    assert f"memory     {format_bytes(float(row['memory_mb']) * 2**20)} at the most\n" in out
    assert main(["show", ended.run, "--workspace", str(tmp_path), "--json"]) == 0
    assert json_line(capsys)["gpu_memory_mb"] == {"allocated": 300.0, "reserved": 512.0, "peak": 450.0}
    console = Console()
    console.draw_progress(read_series(folder.telemetry_file, FLUSH_ROW), read_series(folder.series_file)[-1:])
    console.print_end(ended)
    assert f"samples/s, GPU memory {told}\n" in capsys.readouterr().err
