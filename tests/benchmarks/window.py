"""Throughput with the window open and redrawing against no window at all, interleaved, as a ratio.

    python -m tests.benchmarks.window [--rounds 5]

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
from pathlib import Path

from training.config.files import apply_overrides, dump_config, parse_config, read_toml
from training.presets import preset_text
from training.runs.workspace import run_folders

PATIENCE_SECONDS = 600.0

JOBS = {
    "spiral MLP (steps of under a millisecond)": ("spiral", ["loop.epochs=150", "checkpoints.every_steps=5000"]),
    "small CNN on drawn shapes": ("sample", ["loop.epochs=5"]),
}


def headless(config: Path, workspace: Path) -> float:
    """Samples per second of the command line."""
    command = [sys.executable, "-m", "training", "run", str(config), "--workspace", str(workspace), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.strip().splitlines()[-1])["samples_per_second"])


def with_window(config: Path, workspace: Path) -> float:
    """Samples per second of the same run started from the real window, which stays open and visible."""
    environment = os.environ | {"TRAINWRIGHT_WORKSPACE": str(workspace), "XDG_CONFIG_HOME": str(workspace / "settings")}
    command = [sys.executable, "-m", "studio", str(config), "--start"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as window:
        try:
            deadline = time.monotonic() + PATIENCE_SECONDS
            while time.monotonic() < deadline:
                for folder in run_folders(workspace):
                    status = folder.status()
                    if status.get("status") == "completed":
                        return float(status["samples_per_second"])
                if window.poll() is not None:
                    raise SystemExit("The window ended before the run did.")
                time.sleep(0.5)
            raise SystemExit("The run in the window did not complete in time.")
        finally:
            window.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    for title, (preset, overrides) in JOBS.items():
        data = read_toml(preset_text(preset), preset)
        apply_overrides(data, overrides)
        speeds: dict[str, list[float]] = {"headless": [], "window": []}
        for _round in range(arguments.rounds):
            for name, measure in (("headless", headless), ("window", with_window)):
                with tempfile.TemporaryDirectory() as place:
                    config = Path(place) / "job.toml"
                    config.write_text(dump_config(parse_config(data)))
                    speeds[name].append(measure(config, Path(place) / "workspace"))
        ratios = [window / alone for window, alone in zip(speeds["window"], speeds["headless"], strict=True)]
        print(f"\n{title}, {arguments.rounds} rounds interleaved")
        for name, values in speeds.items():
            print(
                f"  {name:<9} {statistics.median(values):10,.0f} samples/s ({min(values):,.0f} to {max(values):,.0f})"
            )
        print(f"  window / headless: {statistics.median(ratios):.2f} (rounds: {', '.join(f'{r:.2f}' for r in ratios)})")


if __name__ == "__main__":
    main()
