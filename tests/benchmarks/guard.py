"""What the non-finite guard costs: our step with it against the same step with a plain ``optimizer.step()``.

    python -m tests.benchmarks.guard [--rounds 100] [--seconds 0.03] [--device auto] [--set optimizer.kind=sgd ...]

Both contestants share one session: the same weights, the same batches, the same memory. They take turns in short blocks
of steps, so that whatever else the machine does hits both alike; the figure is the median ratio of neighbouring blocks.
The third column is the same with the plain step against itself: what the measurement can tell apart.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from training.config import apply_overrides, parse_config
from training.data import Batch
from training.engine.assemble import assemble
from training.engine.session import Session
from training.engine.step import train_step
from training.optim import Guard

SHAPES = {"kind": "shapes", "samples": 1200, "image_size": 32}
JOBS: dict[str, dict[str, Any]] = {
    "MLP, batch 128": {
        "dataset": {"kind": "spiral", "samples": 1200},
        "model": {"kind": "mlp", "hidden": [64, 64]},
        "loop": {"batch_size": 128},
    },
    "small CNN, batch 128": {"dataset": SHAPES, "model": {"kind": "small_cnn"}, "loop": {"batch_size": 128}},
    "ResNet-18 at 32x32, batch 32": {
        "dataset": SHAPES,
        "model": {"kind": "torchvision", "name": "resnet18"},
        "loop": {"batch_size": 32},
    },
}


@dataclass
class Repeated:
    """One window that can be had again and again."""

    batches: list[Batch]
    samples: int

    def __iter__(self) -> Iterator[Batch]:
        return iter(self.batches)


@dataclass
class Unguarded:
    """The step without guard."""

    optimizer: torch.optim.Optimizer

    def step(self, norm: Tensor) -> bool:
        self.optimizer.step()
        return True

    def remember(self) -> None:
        """Nothing to remember."""


def block(session: Session, guard: Guard, window: Any, steps: int) -> float:
    """Seconds a step."""
    session.guard = guard
    synchronize(session.device)
    began = time.perf_counter()
    for _ in range(steps):
        train_step(session, window)
    synchronize(session.device)
    return (time.perf_counter() - began) / steps


def synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def measure(session: Session, rounds: int, seconds: float) -> tuple[float, float, float]:
    """Median ratio with guard, the same of the plain step with itself, and the plain step's seconds."""
    first = next(session.data.train_windows(0))
    window = Repeated(list(first), first.samples)
    guarded, plain = session.guard, Unguarded(session.optimizer)
    pace = min(block(session, plain, window, 3) for _ in range(3))
    steps = max(1, round(seconds / pace))
    block(session, guarded, window, 20)  # buffers that stand still are found out
    guard_ratios, null_ratios, times = [], [], []
    for turn in range(rounds):
        # plain, guarded, plain in turn: the guarded block lies between the two it is compared with
        before = block(session, plain, window, steps)
        between = block(session, guarded, window, steps)
        after = block(session, plain, window, steps)
        guard_ratios.append(2 * between / (before + after))
        null_ratios.append(after / before if turn % 2 else before / after)
        times += [before, after]
    return statistics.median(guard_ratios), statistics.median(null_ratios), statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=0.03, help="length of a block")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    options = parser.parse_args()
    print(f"{'job':32}{'step':>12}{'guard':>10}{'noise':>10}")
    for name, job in JOBS.items():
        data: dict[str, Any] = {"name": "guard", **{key: dict(value) for key, value in job.items()}}
        apply_overrides(data, [f"precision.device={options.device}", *options.overrides])
        session = assemble(parse_config(data), lambda phase, fraction: None)
        guard, null, seconds = measure(session, options.rounds, options.seconds)
        session.data.close()
        print(f"{name:32}{1e3 * seconds:9.3f} ms{100 * (guard - 1):+9.2f}%{100 * (null - 1):+9.2f}%", flush=True)


if __name__ == "__main__":
    main()
