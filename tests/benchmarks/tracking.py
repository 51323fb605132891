"""What it costs a run to be followed by trackers: ``python -m tests.benchmarks.tracking --mnist FOLDER``.

Whole runs of the MNIST preset on one thread, in pairs, in turn, with and without ``--track tensorboard``. Told is the CPU time of the
training process from its first step to its last, so that neither the imports nor what the machine does besides falls on one of them:
the process that sends is one of its own. ``elapsed`` is the time a person waits, which holds what the two
processes take from each other's caches and memory: the process that sends works in the time that nobody wants, and on a
machine without a core to spare it is late. The share that is told is also bounded by construction: the loop does not know of it, and
beginning the process is all that the run does for it.
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

CHILD = """
import json, os, sys, time
from pathlib import Path
from training.engine.runs import run_writer
from training.engine.runs.run import Hooks, start_run
from training.presets import load_preset

preset, workspace, tracked, *overrides = sys.argv[1:]
looks = []


def watch(event):
    if event.kind in ("attempt_started", "epoch_ended"):
        looks.append((time.process_time(), time.perf_counter()))


took = []
begin = run_writer.start_sidecar


def measure(*given):
    began = time.process_time()
    begin(*given)
    took.append(time.process_time() - began)


run_writer.start_sidecar = measure
record = start_run(load_preset(preset, overrides), Path(workspace), Hooks(watch=watch, trackers=tuple(tracked.split())))
(first, began), (last, ended) = looks[0], looks[-1]
print(json.dumps({"cpu": last - first, "elapsed": ended - began, "start": took[0], "steps": record.step, "folder": record.folder}))
"""


def run_once(preset: str, tracked: bool, overrides: list[str], place: Path) -> dict[str, float]:
    """The figures of one run in a process of its own; it waits until the process that sends has ended."""
    home = {"HOME": str(place), "XDG_CONFIG_HOME": str(place / "config")}
    command = [sys.executable, "-c", CHILD, preset, str(place), "tensorboard" if tracked else "", *overrides]
    done = subprocess.run(command, env=os.environ | home, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    folder = str(found.pop("folder"))
    if tracked:
        wait = [sys.executable, "-m", "training", "track", folder, "--to", "tensorboard"]
        subprocess.run(wait, env=os.environ | home, stderr=subprocess.DEVNULL, check=True)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--mnist", required=True, help="folder with train-images-idx3-ubyte and the three that belong to it"
    )
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=1)
    arguments = parser.parse_args()
    overrides = [f"dataset.path={arguments.mnist}", f"loop.epochs={arguments.epochs}", "precision.threads=1"]
    found: dict[bool, list[dict[str, float]]] = {True: [], False: []}
    for pair in range(arguments.pairs):
        for tracked in (pair % 2 == 0, pair % 2 == 1):
            with tempfile.TemporaryDirectory() as place:
                found[tracked].append(run_once("mnist", tracked, overrides, Path(place)))
        with_, without = found[True][-1], found[False][-1]
        print(
            f"pair {pair + 1}: {with_['cpu'] / without['cpu'] - 1:+.2%} of CPU time ({with_['cpu']:.2f} s and {without['cpu']:.2f} s), "
            f"{with_['elapsed'] / without['elapsed'] - 1:+.2%} of elapsed time; load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
    shares = [a["cpu"] / b["cpu"] - 1 for a, b in zip(found[True], found[False], strict=True)]
    start = statistics.median(each["start"] for each in found[True])
    steps, seconds = found[True][0]["steps"], statistics.median(each["cpu"] for each in found[False])
    print(
        f"{time.strftime('%Y-%m-%d')}: median {statistics.median(shares):+.2%} of CPU time ({min(shares):+.2%} to {max(shares):+.2%}, "
        f"{arguments.pairs} pairs of {steps:,.0f} steps); beginning the process: {start * 1e3:.1f} ms, {start / seconds:.3%} of such a run"
    )


if __name__ == "__main__":
    main()
