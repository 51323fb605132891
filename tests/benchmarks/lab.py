"""Our engine against the textbook loop on the laboratory job (MNIST, small CNN, batch 128), interleaved, as a ratio.

    python -m tests.benchmarks.lab PATH_TO_MNIST [--rounds 5] [--epochs 1]

Each contestant runs in its own process and is timed from its first step to its last validation. Ours has everything on
that a user has: guard, clipping, logging of every step, checkpoints, validation.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from training.events import Completed
from training.runs.folder import RunFolder
from training.runs.history import read_history

CONFIG = """
name = "lab"
[dataset]
kind = "idx"
path = "{folder}"
[model]
kind = "small_cnn"
[optimizer]
kind = "adamw"
lr = 1e-3
weight_decay = 0.01
[schedule]
kind = "one_cycle"
max_lr = 3e-3
[loop]
epochs = {epochs}
batch_size = {batch_size}
accumulation = {accumulation}
clip_norm = 1.0
[checkpoints]
every_steps = 100
"""


def ours(folder: Path, epochs: int, batch_size: int, accumulation: int) -> dict[str, Any]:
    """One run of our command line; seconds from the first step to the last validation, taken from its own events."""
    with tempfile.TemporaryDirectory() as place:
        config = Path(place) / "lab.toml"
        config.write_text(
            CONFIG.format(folder=folder.resolve(), epochs=epochs, batch_size=batch_size, accumulation=accumulation)
        )
        command = [sys.executable, "-m", "training", "run", str(config), "--workspace", place, "--json"]
        record = json.loads(_output(command))
        history = read_history(RunFolder(Path(record["folder"])).events_file)
        assert isinstance(history.final, Completed)
        validated = [item for item in history.validations if "val/loss" in item.metrics]
        seconds = validated[-1].time - history.attempts[0].time
        return {
            "seconds": seconds,
            "loss": record["metrics"]["val/loss"],
            "accuracy": record["metrics"]["val/accuracy"],
        }


def textbook(folder: Path, epochs: int, batch_size: int, accumulation: int) -> dict[str, Any]:
    """One run of the textbook loop."""
    options = ["--epochs", str(epochs), "--batch-size", str(batch_size), "--accumulation", str(accumulation)]
    record: dict[str, Any] = json.loads(
        _output([sys.executable, "-m", "tests.benchmarks.textbook", str(folder), *options])
    )
    return record


def _output(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return done.stdout.strip().splitlines()[-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder of the MNIST idx files")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=1)
    arguments = parser.parse_args()
    for name, batch_size, accumulation in (("batch 128", 128, 1), ("32 x 4", 32, 4)):
        contestants = {"ours": ours, "textbook": textbook}
        seconds: dict[str, list[float]] = {key: [] for key in contestants}
        results: dict[str, dict[str, Any]] = {}
        for _round in range(arguments.rounds):
            for key, contestant in contestants.items():
                results[key] = contestant(arguments.folder, arguments.epochs, batch_size, accumulation)
                seconds[key].append(results[key]["seconds"])
        ratios = [mine / theirs for mine, theirs in zip(seconds["ours"], seconds["textbook"], strict=True)]
        print(f"\nlab, {name}, {arguments.epochs} epoch(s), {arguments.rounds} rounds interleaved")
        for key, values in seconds.items():
            middle, result = statistics.median(values), results[key]
            spread = f"{min(values):.2f} to {max(values):.2f}"
            print(
                f"  {key:<10} {middle:7.2f} s ({spread})  val/loss {result['loss']:.4f}  accuracy {result['accuracy']:.4f}"
            )
        print(f"  ours / textbook: {statistics.median(ratios):.2f} (rounds: {', '.join(f'{r:.2f}' for r in ratios)})")


if __name__ == "__main__":
    main()
