"""What a checkpoint costs the loop, beside what it would cost if the loop waited for the disk; interleaved, as a ratio.

    python -m tests.benchmarks.checkpoints [--rounds 9] [--folder PLACE_ON_THE_DISK_TO_MEASURE]

Real runs of the engine. Every other checkpoint is waited for, until it is durable. While the others are written the loop
goes on; those steps are compared with the ones beside which nothing is written. Two sizes of state: a small CNN with AdamW
and ResNet-50 with AdamW.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from training.config import RunConfig, parse_config
from training.engine import fit
from training.engine.checkpoint_saver import CheckpointSaver
from training.engine.runs.run import Hooks, start_run
from training.engine.step import train_step
from training.events import CheckpointSaved, Event
from training.runs.folder import RunFolder
from training.runs.records.manifest import list_checkpoints

SMALL = "small CNN", {"kind": "small_cnn"}, 30
LARGE = "ResNet-50", {"kind": "torchvision", "name": "resnet50"}, 12
"""Name, model, steps from one checkpoint to the next: enough for the write to end among them."""


@dataclass
class Stopwatch:
    """Seconds, by what they were spent on."""

    rounds: int
    hooks: Hooks = field(default_factory=Hooks)
    stalls: list[float] = field(default_factory=list)
    blocking: list[float] = field(default_factory=list)
    writing: list[float] = field(default_factory=list)  # from the loop going on to the checkpoint being durable
    beside: list[float] = field(default_factory=list)  # steps while a checkpoint is written
    quiet: list[float] = field(default_factory=list)  # steps while none is

    def __post_init__(self) -> None:
        self.hooks.watch = self._watch
        self._saves = 0
        self._went_on = 0.0
        self._written = threading.Event()
        self._written.set()

    def run(self, config: RunConfig, place: Path) -> RunFolder:
        """Train until there were enough rounds."""
        save, step = CheckpointSaver.save, train_step

        def timed_save(saver: CheckpointSaver, **settings: Any) -> None:
            if self.hooks.control.stop:
                return
            blocking = self._saves % 2 == 1
            self._written.wait()  # on a busy computer the one before may still be written
            self._written.clear()
            began = time.perf_counter()
            save(saver, **settings)
            self._went_on = time.perf_counter()
            if blocking:
                self._written.wait()
            (self.blocking if blocking else self.stalls).append(time.perf_counter() - began)
            self._saves += 1
            self.hooks.control.stop = self._saves == 2 * (self.rounds + 1)

        def timed_step(*arguments: Any) -> Any:
            beside = not self._written.is_set()
            began = time.perf_counter()
            result = step(*arguments)
            result[0].item()  # the step is over when its loss is known, on a GPU too
            (self.beside if beside else self.quiet).append(time.perf_counter() - began)
            return result

        with mock.patch.object(CheckpointSaver, "save", timed_save), mock.patch.object(fit, "train_step", timed_step):
            return RunFolder(Path(start_run(config, place, self.hooks).folder))

    def _watch(self, event: Event) -> None:
        if isinstance(event, CheckpointSaved):
            self.writing.append(time.perf_counter() - self._went_on)
            self._written.set()


def measure(name: str, model: dict[str, str], steps: int, rounds: int, place: Path) -> None:
    """Run once and print."""
    config = parse_config(
        {
            "name": "checkpoints",
            "dataset": {"kind": "shapes", "samples": 16 * steps * 2 * (rounds + 2) * 5 // 4, "image_size": 32},
            "model": model,
            "optimizer": {"kind": "adamw"},
            "loop": {"epochs": 1, "batch_size": 16},
            "checkpoints": {"every_steps": steps},
        }
    )
    watch = Stopwatch(rounds)
    folder = watch.run(config, place)
    size = list_checkpoints(folder)[0].size
    first, stalls, blocking = watch.stalls[0], watch.stalls[1:], watch.blocking[1:]
    shares = [100 * stall / whole for stall, whole in zip(stalls, blocking, strict=True)]
    beside, quiet = statistics.median(watch.beside), statistics.median(watch.quiet)
    print(f"\n{name}, {size / 1e6:.1f} MB, {rounds} rounds interleaved")
    print(f"  the loop stands still  {spread(stalls)}; the very first time {1e3 * first:.2f}")
    print(f"  a blocking write       {spread(blocking)}")
    print(f"  stall / blocking       {statistics.median(shares):8.2f} %   ({', '.join(f'{s:.1f}' for s in shares)})")
    print(
        f"  a step                 {1e3 * beside:8.2f} ms beside a write, {1e3 * quiet:.2f} ms without: "
        f"{beside / quiet:.2f} times, for {statistics.median(watch.writing[2::2]):.2f} s a checkpoint"
    )


def spread(seconds: list[float]) -> str:
    """Median and range in milliseconds."""
    return f"{1e3 * statistics.median(seconds):8.2f} ms  ({1e3 * min(seconds):.2f} to {1e3 * max(seconds):.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--folder", type=Path, help="where to write; by default the system's temporary folder")
    arguments = parser.parse_args()
    for name, model, steps in (SMALL, LARGE):
        with tempfile.TemporaryDirectory(dir=arguments.folder) as place:
            measure(name, model, steps, arguments.rounds, Path(place))


if __name__ == "__main__":
    main()
