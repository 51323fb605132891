"""Run folders of any size, written through the program's own writers, without the hours of training behind them."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np

from training.config import RunConfig, parse_config
from training.events import AttemptStarted, CheckpointSaved, Completed, EpochEnded, Validated
from training.runs.folder import RunFolder, create_run
from training.runs.records.forms import BestCheckpoint, StatusRecord
from training.runs.records.history import EventLog
from training.runs.records.manifest import FORMAT, MANIFEST, STATE, WEIGHTS, checkpoint_name, seal, write_labels
from training.runs.records.series import FLUSH_ROW, STEP_ROW, Rows, SeriesWriter

STEPS_PER_EPOCH = 100


def step_rows(first: int, count: int) -> Rows:
    """Steps from ``first`` on, with a falling, noisy loss."""
    rows = np.zeros(count, STEP_ROW)
    rows["step"] = np.arange(first, first + count)
    rows["epoch"] = (rows["step"] - 1) // STEPS_PER_EPOCH
    rows["lr"] = 1e-3
    noise = np.random.default_rng(first).random(count)
    rows["loss"] = 2.0 / np.sqrt(rows["step"]) + 0.1 * noise
    rows["grad_norm"] = 1.0 + noise
    return rows


def drawn_config(number: int = 0) -> RunConfig:
    """The settings of a small run; names repeat, as they do in a person's workspace."""
    return parse_config(
        {"name": f"drawn {number % 100}", "seed": number, "dataset": {"kind": "spiral"}, "model": {"kind": "mlp"}}
    )


def draw_run(workspace: Path, steps: int, events: int, checkpoints: int = 2) -> RunFolder:
    """A completed run of ``steps`` steps whose history tells of about ``events`` epochs, validations and checkpoints."""
    config = drawn_config()
    folder = create_run(workspace, config)
    series = SeriesWriter(folder.series_file, STEP_ROW)
    for first in range(1, steps + 1, 1 << 16):
        series.append(step_rows(first, min(1 << 16, steps + 1 - first)))
    series.close()
    _draw_telemetry(folder, steps)
    _draw_events(folder, steps, max(events // 3, 1))
    names = [checkpoint_name(steps - index) for index in range(min(checkpoints, steps))]
    for index, name in enumerate(names):
        _draw_checkpoint(folder.checkpoints / name, steps - index, config)
    write_labels(folder, {"last": names[0], "best": names[-1]} if names else {})
    _end(folder, folder.status(), 0, steps)
    return folder


def draw_runs(workspace: Path, count: int) -> list[RunFolder]:
    """``count`` short runs that ended in different ways; the first one is drawn, the others are copies under new names."""
    first = draw_run(workspace, 200, 12, checkpoints=1)
    settings, record = first.config_file.read_text(), first.status()
    folders = [first]
    for number in range(1, count):
        name = f"drawn {number % 100}"
        folder = RunFolder(first.path.with_name(f"drawn-{number % 100}-20260101-000000-{number:05x}"))
        shutil.copytree(first.path, folder.path, copy_function=shutil.copyfile)
        folder.config_file.write_text(settings.replace('"drawn 0"', f'"{name}"'))
        own = {"run": folder.id, "folder": str(folder.path), "name": name}
        _end(folder, record.model_copy(update=own), number, 200)
        folders.append(folder)
    return folders


def _end(folder: RunFolder, record: StatusRecord, number: int, steps: int) -> None:
    loss = 0.1 + (number * 7919 % 1000) / 1000
    checkpoint = str(folder.checkpoints / checkpoint_name(steps))
    best = BestCheckpoint(metric="val/loss", value=loss, step=steps, checkpoint=checkpoint)
    ended = {
        "status": ("completed", "stopped", "failed")[number % 3],
        "step": steps,
        "total_steps": steps,
        "best": best,
        "metrics": {"val/loss": loss},
        "ended": time.time(),
    }
    folder.write_status(record.model_copy(update=ended))


def _draw_telemetry(folder: RunFolder, steps: int) -> None:
    """One look for each 400 steps: ten a second at 4,000 steps a second."""
    rows = np.zeros(max(steps // 400, 1), FLUSH_ROW)
    rows["step"] = np.linspace(1, steps, len(rows)).astype(np.int64)
    rows["time"] = time.time() + 0.1 * np.arange(len(rows))
    rows["samples_per_second"], rows["memory_mb"] = 30_000.0, 300.0
    telemetry = SeriesWriter(folder.telemetry_file, FLUSH_ROW)
    telemetry.append(rows)
    telemetry.close()


def _draw_events(folder: RunFolder, steps: int, rounds: int) -> None:
    log = EventLog(folder.events_file)
    log.emit(
        AttemptStarted(
            attempt=1, step=0, total_steps=steps, steps_per_epoch=STEPS_PER_EPOCH, epochs=rounds, device="the CPU"
        )
    )
    for number in range(1, rounds + 1):
        step = number * steps // rounds
        improved = number & (number - 1) == 0  # rarer and rarer, as in training
        metrics = {"val/loss": 1.0 / number, "val/accuracy": 1.0 - 1.0 / (number + 1)}
        log.emit(EpochEnded(step=step, epoch=number, metrics={"train/loss": 1.0 / number}))
        log.emit(Validated(step=step, epoch=number, metrics=metrics, improved=improved))
        labels = ("last", "best") if improved else ("last",)
        log.emit(CheckpointSaved(step=step, epoch=number, checkpoint=checkpoint_name(step), labels=labels))
    log.emit(Completed(step=steps))
    log.close()


def _draw_checkpoint(path: Path, step: int, config: RunConfig) -> None:
    path.mkdir()
    facts = {"bytes": 10, "sha256": "0" * 64}
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "step": step,
        "epoch": step // STEPS_PER_EPOCH,
        "time": time.time(),
        "metrics": {"val/loss": 0.5},
        "config": config.model_dump(mode="json"),
        "data": {"fingerprint": "drawn"},
        "planned": True,
        "files": {WEIGHTS: facts, STATE: facts},
    }
    (path / MANIFEST).write_text(json.dumps(seal(manifest), indent=1) + "\n")
