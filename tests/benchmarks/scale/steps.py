"""A run of very many steps: while it trains, when it is taken up again, and when it is looked at."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from numpy.typing import NDArray

from tests.benchmarks.scale.drawn import draw_run, step_rows
from tests.benchmarks.scale.probe import Measurement, Probe
from training.config import RunConfig, parse_config, save_config
from training.events import AttemptStarted
from training.runs.folder import RunFolder
from training.runs.records.history import read_history
from training.runs.records.manifest import checkpoint_name
from training.runs.records.series import FLUSH_ROW, STEP_ROW, SeriesWriter, read_series

EPOCH = 1000  # steps; at the end of each a validation and a checkpoint
AGAIN = 2 * EPOCH  # steps done again from a checkpoint
SHORT = 4 * EPOCH
PICTURES_EPOCH = 100  # steps, likewise

Floats = NDArray[np.float64]


@dataclass
class Course:
    """What each epoch of one run took, after its first, and the memory it held then."""

    steps: list[int] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)  # a step, everything included
    processor: list[float] = field(default_factory=list)  # milliseconds of processor time a step
    memory: list[float] = field(default_factory=list)  # MB

    def last_to_first(self, values: list[float]) -> float:
        """The median of the last ten epochs over that of the first ten."""
        return float(np.median(values[-10:]) / np.median(values[:10]))

    def undisturbed(self, values: list[float]) -> float:
        """The quickest tenth of the last quarter over that of the first: what is left when others use the machine."""
        quarter = max(len(values) // 4, 1)
        return float(np.quantile(values[-quarter:], 0.1) / np.quantile(values[:quarter], 0.1))


def tiny_run(steps: int) -> RunConfig:
    """The quickest steps there are with everything on: 8,000 points in batches of 8, an MLP of 16 units, logging,
    validation and a checkpoint every thousand steps."""
    return parse_config(
        {
            "name": f"{steps} steps",
            "dataset": {"kind": "spiral", "samples": 10 * EPOCH},
            "model": {"kind": "mlp", "hidden": [16]},
            "optimizer": {"kind": "adamw", "lr": 3e-3},
            "schedule": {"kind": "cosine", "warmup": 50},
            "loop": {"epochs": steps // EPOCH, "batch_size": 8},
            "checkpoints": {"every_steps": EPOCH},
        }
    )


def cnn_run(steps: int) -> RunConfig:
    """The small CNN on 3,200 drawn shapes, augmented, in batches of 32, with an average of its weights, validation and a
    checkpoint every hundred steps: convolutions, pooling and images ask for other memory at each step than an MLP does."""
    return parse_config(
        {
            "name": f"{steps} steps of a CNN",
            "dataset": {"kind": "shapes", "samples": 4000, "flip": True, "crop_padding": 2, "rotation": 10.0},
            "model": {"kind": "small_cnn", "channels": [16, 32], "hidden": 64, "dropout": 0.2},
            "optimizer": {"kind": "adamw", "lr": 1e-3},
            "loop": {"epochs": steps // PICTURES_EPOCH, "batch_size": 32, "ema_decay": 0.99},
            "checkpoints": {"every_steps": PICTURES_EPOCH},
        }
    )


def train(config: RunConfig, workspace: Path) -> RunFolder:
    """Train from the beginning, by the command line."""
    file = workspace / f"{config.name}.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    save_config(config, file)
    return RunFolder(Path(_engine("run", str(file), "--workspace", str(workspace))["folder"]))


def course(folder: RunFolder, epoch: int = EPOCH) -> Course:
    """Read from the run's own telemetry; an ``epoch`` has so many steps."""
    looks = read_series(folder.telemetry_file, FLUSH_ROW)
    seconds = np.diff(looks["time"], prepend=looks["time"][:1])
    processor = np.cumsum(seconds * looks["cpu_share"]) * (psutil.cpu_count() or 1)
    edges = np.arange(epoch, int(looks["step"][-1]) + 1, epoch)

    def per_step(passed: Floats) -> list[float]:
        milliseconds: list[float] = (1000 * np.diff(np.interp(edges, looks["step"], passed)) / epoch).tolist()
        return milliseconds

    held = np.interp(edges[1:], looks["step"], looks["memory_mb"]).tolist()
    return Course(edges[1:].tolist(), per_step(looks["time"]), per_step(processor), held)


def again(folder: RunFolder, steps: int) -> tuple[float, float, float]:
    """Resume ``steps`` before the end; returns milliseconds a step, seconds to the attempt's begin, seconds of ``show``."""
    end = folder.status().total_steps or 0
    began = time.time()
    record = _engine("resume", str(folder.checkpoints / checkpoint_name(end - steps)))
    started = [event for event in read_history(folder.events_file).attempts if isinstance(event, AttemptStarted)][-1]
    looked = time.perf_counter()
    _engine("show", str(folder.path))
    return 8000 / record["samples_per_second"], started.time - began, time.perf_counter() - looked


def _engine(*words: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "training", *words, "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, stderr=subprocess.DEVNULL)
    text = done.stdout.strip()
    found: dict[str, Any] = json.loads(text if words[0] == "show" else text.splitlines()[-1])
    return found


def side_by_side(long: RunFolder, short: RunFolder, rounds: int) -> tuple[list[Measurement], list[float]]:
    """The last steps of a long run and of a short one, in turns; also each round's ratio of the time of a step."""
    probes = {folder.path: Probe("steps", folder.status().total_steps or 0) for folder in (short, long)}
    taken = {
        folder.path: [again(folder, AGAIN) for folder in [folder]] for folder in (short, long)
    }  # the first warms up
    for _ in range(rounds):
        for folder in (short, long):
            taken[folder.path].append(again(folder, AGAIN))
    names = ("a step, after a resume", "resume until the attempt begins", "`show` of the run")
    for path, probe in probes.items():
        for at, name in enumerate(names):
            value = float(np.median([figures[at] for figures in taken[path][1:]]))
            probe.note(name, value if at == 0 else 1000 * value, "ms", "constant" if at == 0 else "linear")
        size = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        probe.note("size of the run folder", size / 2**20, "MB")
        manifest = max((path / "checkpoints").glob("*/manifest.json"))
        probe.note("manifest of a checkpoint", manifest.stat().st_size / 1024, "kB", "constant")
    ratios = [late[0] / early[0] for early, late in zip(taken[short.path][1:], taken[long.path][1:], strict=True)]
    return [figure for probe in probes.values() for figure in probe.taken], ratios


def look(count: int, place: Path) -> list[Measurement]:
    """What the window does with a run of ``count`` steps, one of its checkpoints in a thousand; in a process of its own."""
    from PySide6.QtWidgets import QApplication

    from studio.engine.monitor import RunMonitor
    from studio.panels.run_curves import RunCurves
    from studio.services.app_settings import AppSettings
    from studio.services.settings import SettingsStore
    from studio.state.runs.run_library import thin
    from training.runs.records.series import sample_series

    application = QApplication([])
    folder = draw_run(place, count, 3 * max(count // EPOCH, 1))
    curves = RunCurves(SettingsStore(place / "settings.json", AppSettings()))
    curves.resize(900, 600)
    curves.show()
    application.processEvents()
    probe = Probe("steps", count)
    probe.time(
        "sparkline of the run", lambda: thin(sample_series(folder.series_file, 40, 64)["loss"]), grows="constant"
    )
    monitor = RunMonitor(folder.path)
    events: list[Any] = []
    rows: list[Any] = []
    monitor.event_arrived.connect(events.append)
    monitor.rows_arrived.connect(rows.append)
    probe.time("read the run", monitor.look)

    def fill() -> None:
        for event in events:
            curves.add_event(event)
        for some in rows:
            curves.add_rows(some)

    def draw() -> None:
        for name in ("loss", "metric", "lr", "grad_norm"):
            curves.board.plot(name).refresh()
        application.processEvents()

    probe.time("fill the curves", fill)
    probe.time("first drawing", draw, grows="constant")
    events.clear()
    rows.clear()
    monitor.rows_arrived.connect(curves.add_rows)
    probe.memory("memory of the run in the window")
    writer = SeriesWriter(folder.series_file, STEP_ROW)
    last = count

    def grow() -> None:
        nonlocal last
        writer.append(step_rows(last + 1, 400))
        last += 400
        monitor.look()
        draw()

    probe.time("400 steps more: read, add and draw", grow, grows="constant", repeats=10)
    writer.close()
    probe.time("look at it again", monitor.look, grows="constant", repeats=10)
    return probe.taken
