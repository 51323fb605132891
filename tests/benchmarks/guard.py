"""What the non-finite guard costs: our step with it against the same step with the bare update.

    python -m tests.benchmarks.guard [--rounds 100] [--seconds 0.03] [--device auto] [--clock cpu] [--set optimizer.kind=sgd ...]

Both contestants share one session: the same weights, the same batches, the same memory. They take turns in short blocks
of steps, so that whatever else the machine does hits both alike; the figure is the median ratio of neighboring blocks.
``--clock cpu`` counts the process's own time, for a machine that is busy otherwise.
The column "noise" is the same with the plain step against itself: what the measurement can tell apart. "alone" is
the guard around an optimizer that does nothing, many times in a row: finer than any comparison of whole steps.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from training.config import apply_overrides, parse_config
from training.data import Batch
from training.engine.assemble import assemble
from training.engine.session import Session
from training.engine.step import train_step
from training.optim import Guard, make_guard

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


class Unguarded:
    """The step without guard."""

    def __call__(self, step: Callable[[], object], norm: Tensor) -> bool:
        step()
        return True

    def remember(self) -> None:
        """Nothing to remember."""


class Idle:
    """An optimizer that does nothing, as a fused one."""

    def __init__(self) -> None:
        self.param_groups = [{"fused": True}]

    def step(self) -> None:
        """Nothing."""


Clock = Callable[[], float]


def block(session: Session, guard: Guard, window: Any, steps: int, clock: Clock) -> float:
    """Seconds a step."""
    session.guard = guard
    synchronize(session.device)
    began = clock()
    for _ in range(steps):
        train_step(session, window, 1e-3)
    synchronize(session.device)
    return (clock() - began) / steps


def synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def measure(session: Session, rounds: int, seconds: float, clock: Clock) -> tuple[float, float, float]:
    """Median ratio with guard, the same of the plain step with itself, and the plain step's seconds."""
    first = next(session.data.steps(0))
    window = Repeated(list(first), first.samples)
    guarded, plain = session.guard, Unguarded()
    pace = min(block(session, plain, window, 3, clock) for _ in range(3))
    steps = max(1, round(seconds / pace))
    guard_ratios, null_ratios, times = [], [], []
    for turn in range(rounds):
        # plain, guarded, plain in turn: the guarded block lies between the two it is compared with
        before = block(session, plain, window, steps, clock)
        between = block(session, guarded, window, steps, clock)
        after = block(session, plain, window, steps, clock)
        guard_ratios.append(2 * between / (before + after))
        null_ratios.append(after / before if turn % 2 else before / after)
        times += [before, after]
    return statistics.median(guard_ratios), statistics.median(null_ratios), statistics.median(times)


def alone(session: Session, clock: Clock, calls: int = 2000) -> float:
    """Seconds a step that the guard itself takes: the test of the norm and the care for the model's buffers."""
    guard = make_guard(Idle(), session.device, session.model.buffers())  # type: ignore[arg-type]
    norm = torch.ones((), device=session.device)
    times = []
    for _ in range(11):
        synchronize(session.device)
        began = clock()
        for _ in range(calls // 10):
            guard(lambda: None, norm)
        synchronize(session.device)
        times.append((clock() - began) / (calls // 10))
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=0.03, help="length of a block")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    options = parser.parse_args()
    clock = time.perf_counter if options.clock == "wall" else time.process_time
    print(f"{'job':32}{'step':>12}{'guard':>10}{'noise':>10}{'alone':>20}")
    for name, job in JOBS.items():
        data: dict[str, Any] = {"name": "guard", **{key: dict(value) for key, value in job.items()}}
        apply_overrides(data, [f"precision.device={options.device}", *options.overrides])
        session = assemble(parse_config(data), lambda phase, fraction: None)
        guard, null, seconds = measure(session, options.rounds, options.seconds, clock)
        own = alone(session, clock)
        session.data.close()
        ratios = f"{100 * (guard - 1):+9.2f}%{100 * (null - 1):+9.2f}%"
        print(f"{name:32}{1e3 * seconds:9.3f} ms{ratios}{1e6 * own:9.1f} us {100 * own / seconds:+7.3f}%", flush=True)


if __name__ == "__main__":
    main()
