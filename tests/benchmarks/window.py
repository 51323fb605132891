"""Throughput with the window open and redrawing against no window at all, interleaved, as a ratio.

    python -m tests.benchmarks.window [--rounds 5] [--seconds 20]

Two jobs, each with one compute thread and with all of them; each run lasts about ``--seconds``, so that the window's own
start is a small part of it. The redraw rate and the processor time that the window takes are stated beside the ratio.

Needs a display (a virtual one will do: ``xvfb-run -a -s "-screen 0 1280x800x24" python -m tests.benchmarks.window``); with
QT_QPA_PLATFORM=offscreen the window draws into memory. Each measurement is a process of its own with a fresh workspace.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from training.config.files import apply_overrides, dump_config, parse_config
from training.presets import preset_text
from training.runs.workspace import run_folders
from training.toml_text import read_toml

PATIENCE_SECONDS = 600.0

JOBS = {
    "spiral MLP (steps of under a millisecond)": ("spiral", "checkpoints.every_steps=5000"),
    "small CNN on drawn shapes": ("sample", "checkpoints.every_steps=500"),
}
THREADS = {"one compute thread": ["precision.threads=1"], "all compute threads": []}

WINDOW = """
import sys
import studio.app
from studio.charts.plots.curve_plot import CurvePlot

drawn = 0
draw = CurvePlot.draw

def counted(plot):
    global drawn
    drawn += 1
    draw(plot)

CurvePlot.draw = counted
code = studio.app.main(sys.argv[1:])
print(drawn, flush=True)
sys.exit(code)
"""


@dataclass
class Figures:
    """Of one way to run, a number for each round; the last three are the window's."""

    speed: list[float] = field(default_factory=list)
    redraws: list[float] = field(default_factory=list)
    share: list[float] = field(default_factory=list)
    cost: list[float] = field(default_factory=list)  # processor seconds of all that the window does, by redraw


def headless(config: Path, workspace: Path) -> dict[str, Any]:
    """The record of the command line's run."""
    command = [sys.executable, "-m", "training", "run", str(config), "--workspace", str(workspace), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    record: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return record


def with_window(config: Path, workspace: Path, figures: Figures) -> None:
    """The same run started from the real window, which stays open and visible."""
    environment = os.environ | {"TRAINWRIGHT_WORKSPACE": str(workspace), "XDG_CONFIG_HOME": str(workspace / "settings")}
    command = [sys.executable, "-c", WINDOW, str(config), "--start"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env=environment, text=True, **pipes) as window:  # type: ignore[call-overload]
        try:
            began, spent, status = wait_for_run(window, workspace)
        finally:
            window.terminate()
            said = window.communicate()[0]
    seconds = float(status["ended"]) - began
    figures.speed.append(float(status["samples_per_second"]))
    redraws = int(said.split()[-1]) / 4  # the Run page has four plots
    figures.redraws.append(redraws / seconds)
    figures.share.append(spent / seconds)
    figures.cost.append(spent / max(redraws, 1))


def wait_for_run(window: subprocess.Popen[str], workspace: Path) -> tuple[float, float, dict[str, Any]]:
    """When the run began, the processor seconds that the window has taken since, and the run's record at its end."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    began = before = 0.0
    while time.monotonic() < deadline:
        for folder in run_folders(workspace):
            if not began and folder.telemetry_file.exists():
                began, before = time.time(), processor_seconds(window.pid)
            status = folder.status()
            if status.status == "completed":
                return began, processor_seconds(window.pid) - before, status.dump()
        if window.poll() is not None:
            raise SystemExit("The window ended before the run did.")
        time.sleep(0.2)
    raise SystemExit("The run in the window did not complete in time.")


def processor_seconds(process: int) -> float:
    times = psutil.Process(process).cpu_times()
    return float(times.user + times.system)


def measure(data: dict[str, Any], rounds: int) -> tuple[Figures, Figures]:
    """``rounds`` of both ways, one after the other."""
    alone, window = Figures(), Figures()
    for _round in range(rounds):
        for name in ("headless", "window"):
            with tempfile.TemporaryDirectory() as place:
                config = Path(place) / "job.toml"
                config.write_text(dump_config(parse_config(data)))
                if name == "window":
                    with_window(config, Path(place) / "workspace", window)
                else:
                    alone.speed.append(float(headless(config, Path(place) / "workspace")["samples_per_second"]))
    return alone, window


def lasting(data: dict[str, Any], seconds: float) -> None:
    """Give ``data`` as many epochs as take about ``seconds`` here without a window, told by a run of ten."""
    apply_overrides(data, ["loop.epochs=10"])
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "job.toml").write_text(dump_config(parse_config(data)))
        speed = float(headless(place / "job.toml", place / "workspace")["samples_per_second"])
        samples = json.loads(run_folders(place / "workspace")[0].data_file.read_text())["samples"]["train"]
    apply_overrides(data, [f"loop.epochs={max(1, round(seconds * speed / samples))}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=20.0, help="that each run lasts, about")
    arguments = parser.parse_args()
    for title, (preset, saving) in JOBS.items():
        for threads, setting in THREADS.items():
            data = read_toml(preset_text(preset), preset)
            apply_overrides(data, [saving, *setting])
            lasting(data, arguments.seconds)
            alone, window = measure(data, arguments.rounds)
            ratios = [beside / by_itself for beside, by_itself in zip(window.speed, alone.speed, strict=True)]
            print(f"\n{title}, {threads}, {arguments.rounds} rounds interleaved")
            for name, values in (("headless", alone.speed), ("window", window.speed)):
                spread = f"({min(values):,.0f} to {max(values):,.0f})"
                print(f"  {name:<9} {statistics.median(values):10,.0f} samples/s {spread}")
            print(
                f"  window / headless: {statistics.median(ratios):.2f} (rounds: {', '.join(f'{r:.2f}' for r in ratios)})"
            )
            print(
                f"  drawn {statistics.median(window.redraws):.1f} times a second, "
                f"window takes {statistics.median(window.share):.1%} of a core, "
                f"{1000 * statistics.median(window.cost):.1f} ms a redraw",
                flush=True,
            )


if __name__ == "__main__":
    main()
