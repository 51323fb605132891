"""What a step of ours costs over the bare floor, part by part: guard, clip, logging, schedule, EMA, the rest.

    python -m tests.benchmarks.step [--job spiral ...] [--rounds 40] [--seconds 0.1] [--clock wall] [--threads N]

One process. Every contestant has the same model, data and batches; they take turns in short blocks of steps, so that
whatever else the machine does hits all alike; figures are medians over the rounds, ratios those of neighboring blocks.

"floor" is what nobody can leave out: tensors resident, a gather by index, one cast, forward, backward, the norm, torch's
fused update with the clip folded in, a learning rate from a table. "ours" is the program's own loop (``Loop``) with all
that a run has: guard, clip, recorder and its files, schedule, control file. Each further line is ours with one part taken
out (or, for EMA, put in); "noise" is ours once more: what the measurement cannot tell apart. Validation and checkpoints
are other benchmarks' matter: no epoch ends inside a block.
``--clock cpu`` counts the process's own time: for jobs of one thread on a busy machine.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from training.checkpoints import CheckpointManager
from training.config import RunConfig, apply_overrides, parse_config
from training.data.batching.resident import Resident
from training.diagnosis import LiveDiagnosis
from training.engine.assemble import assemble
from training.engine.checkpoint_saver import CheckpointSaver
from training.engine.device import AutoSettings
from training.engine.fit import Loop
from training.engine.recovery.memory import OutOfMemory
from training.engine.recovery.nonfinite import NonFiniteLog
from training.engine.recovery.rollback import RollBack
from training.engine.requests import Requests
from training.engine.runs.hooks import Hooks
from training.engine.runs.run_writer import RunWriter
from training.engine.session import Session
from training.engine.step_logger import StepLogger
from training.engine.validation import Validation
from training.runs.folder import create_run
from training.schedules import Schedule
from training.system.process import tune_process

IDX = {"kind": "idx"}
SHAPES = {"kind": "shapes", "samples": 4000, "image_size": 32}
CYCLE = {"kind": "one_cycle", "max_lr": 3e-3}
JOBS: dict[str, dict[str, Any]] = {
    "spiral": {
        "dataset": {"kind": "spiral", "samples": 30_000},
        "model": {"kind": "mlp", "hidden": [128, 128]},
        "loop": {"batch_size": 64},
    },
    "lab": {"dataset": IDX, "model": {"kind": "small_cnn"}, "loop": {"batch_size": 128}},
    "lab 32 x 4": {"dataset": IDX, "model": {"kind": "small_cnn"}, "loop": {"batch_size": 32, "accumulation": 4}},
    "resnet18 at 32x32": {
        "dataset": SHAPES,
        "model": {"kind": "torchvision", "name": "resnet18"},
        "loop": {"batch_size": 32},
    },
}

Clock = Callable[[], float]


class Contestant(Protocol):
    """Something that can make steps."""

    def work(self, steps: int) -> None: ...


class Floor:
    """The bare loop over the very samples, network and settings of a session."""

    def __init__(self, session: Session) -> None:
        data, config = session.data, session.config
        feed = data._feed
        assert isinstance(feed, Resident)
        self._samples, self._targets = feed.samples, data.source.targets
        self._images = data.facts.layout == "image"
        self._model = session.model
        self._parameters = list(session.model.parameters())
        self._optimizer = session.optimizer
        self._batch, self._accumulation = config.loop.batch_size, config.loop.accumulation
        self._clip = config.loop.clip_norm or float("inf")
        self._rates = [session.schedule.lr(step) for step in range(min(session.total_steps, 100_000))]
        numbers = data.splits["train"]
        self._order = numbers[torch.randperm(len(numbers))]
        self._place = self._step = 0
        self.losses: list[Tensor] = []
        self.norms: list[Tensor] = []

    def work(self, steps: int) -> None:
        model, optimizer, size = self._model, self._optimizer, self._batch
        samples = size * self._accumulation
        self.losses.clear()
        self.norms.clear()
        for _ in range(steps):
            for parameter in self._parameters:
                parameter.grad = None
            if self._place + samples > len(self._order):
                self._place = 0
            for _batch in range(self._accumulation):
                some = self._order[self._place : self._place + size]
                self._place += size
                inputs = self._samples.index_select(0, some)
                if self._images:
                    inputs = inputs.float().div_(255.0).permute(0, 3, 1, 2)
                loss = nn.functional.cross_entropy(model(inputs), self._targets.index_select(0, some))
                if self._accumulation > 1:
                    loss = loss / self._accumulation
                loss.backward()
            norm = torch.linalg.vector_norm(
                torch.stack(torch._foreach_norm([p.grad for p in self._parameters if p.grad is not None]))
            )
            optimizer.grad_scale = (norm / self._clip).clamp_(min=1.0)  # type: ignore[attr-defined]
            rate = self._rates[self._step % len(self._rates)]
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.step()
            self._step += 1
            self.losses.append(loss.detach())
            self.norms.append(norm)
        torch.stack([torch.stack(self.losses), torch.stack(self.norms)]).numpy()


class Counting(Requests):
    """Says when a step is over."""

    count: Callable[[], None]

    def handle(self) -> None:
        super().handle()
        self.count()


class Ours:
    """The program's own loop, stopped after so many steps by its own control."""

    def __init__(self, session: Session, workspace: Path, logs: bool = True) -> None:
        folder = create_run(workspace, session.config)
        self._session, self._writer = session, RunWriter(folder, Hooks())
        self._control = self._writer.control
        self._writer.__enter__()
        self._control.watch(folder.path)
        self._step_logger = (StepLogger if logs else Silent)(
            session, folder, NonFiniteLog(session, self._writer.emit, folder.series_file)
        )
        self._manager = CheckpointManager(folder, 1, self._writer.emit, False)
        saver = CheckpointSaver(session, self._writer, self._step_logger, self._manager)
        out_of_memory = OutOfMemory(session, self._writer.emit, saver.save)
        per_epoch, size = session.data.steps_per_epoch, session.count_parameters()
        diagnosis = LiveDiagnosis(folder, session.config, session.total_steps, per_epoch, size, self._writer.emit)
        validation = Validation(session, self._writer, self._step_logger, out_of_memory, diagnosis)
        requests = Counting(self._writer, self._step_logger, validation, saver)
        requests.count = self._count
        roll_back = RollBack(self._writer, session, self._step_logger, self._manager, saver)
        self._loop = Loop(
            session, self._writer, self._step_logger, out_of_memory, validation, saver, requests, roll_back
        )
        self._left = 0

    def _count(self) -> None:
        self._left -= 1
        if not self._left:
            self._control.stop = True

    def work(self, steps: int) -> None:
        progress = self._session.progress
        if progress.window + steps + 1 >= self._session.data.steps_per_epoch:
            progress.window = 0
        self._left, self._control.stop = steps, False
        self._loop.fit()

    def close(self) -> None:
        self._step_logger.close()
        self._manager.close()
        self._session.data.close()
        self._writer.__exit__(None, None, None)


class Unguarded:
    """The step alone."""

    def __call__(self, step: Callable[[], object], norm: Tensor) -> bool:
        step()
        return True

    def remember(self) -> None:
        """Nothing to remember."""


class Silent(StepLogger):
    """No numbers kept."""

    def add(self, lr: float, samples: int, loss: Tensor, norm: Tensor) -> None:
        """Nothing."""

    def flush(self) -> None:
        """Nothing."""


def session_for(config: RunConfig, threads: int | None) -> Session:
    return assemble(config, lambda phase, fraction: None, AutoSettings(threads=threads))


def without_guard(session: Session) -> None:
    session.guard = Unguarded()


def without_schedule(session: Session) -> None:
    session.schedule = Schedule(lambda step: 1e-3)


PARTS: dict[str, tuple[tuple[str, ...], Callable[[Session], None] | None]] = {
    "ours": ((), None),
    "no noise": ((), None),
    "no guard": ((), without_guard),
    "no clip": (("loop.clip_norm=none",), None),
    "no logging": ((), None),
    "no schedule": ((), without_schedule),
    "with EMA": (("loop.ema_decay=0.999",), None),
}


def seconds_a_step(contestant: Contestant, steps: int, clock: Clock) -> float:
    began = clock()
    contestant.work(steps)
    return (clock() - began) / steps


def measure(job: str, options: argparse.Namespace, workspace: Path) -> None:
    clock = time.perf_counter if options.clock == "wall" else time.process_time

    def config(*overrides: str) -> RunConfig:
        data: dict[str, Any] = {"name": "step", "schedule": CYCLE, **{k: dict(v) for k, v in JOBS[job].items()}}
        if data["dataset"]["kind"] == "idx":
            data["dataset"]["path"] = str(options.mnist.resolve())
        every = ["checkpoints.every_steps=1000000000", "loop.epochs=1000", "precision.device=cpu"]
        apply_overrides(data, [*every, *options.overrides, *overrides])
        return parse_config(data)

    contestants: dict[str, Contestant] = {"floor": Floor(session_for(config(), options.threads))}
    for name, (overrides, change) in PARTS.items():
        if options.brief and name != "ours":
            continue
        session = session_for(config(*overrides), options.threads)
        if change is not None:
            change(session)
        contestants[name] = Ours(session, workspace, logs=name != "no logging")
    pace = min(seconds_a_step(contestants["floor"], 3, clock) for _ in range(5))
    steps = max(2, round(options.seconds / pace))
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for contestant in contestants.values():
        contestant.work(steps)
    names, chance = list(contestants), random.Random(0)
    for _round in range(options.rounds):
        chance.shuffle(names)  # whoever comes after another finds the caches as that one left them
        for name in names:
            times[name].append(seconds_a_step(contestants[name], steps, clock))
    tell(job, times, steps)
    for contestant in contestants.values():
        if isinstance(contestant, Ours):
            contestant.close()


def tell(job: str, times: dict[str, list[float]], steps: int) -> None:
    """The table of one job."""
    rows = {name: np.array(values) for name, values in times.items()}
    print(f"\n{job}: {torch.get_num_threads()} thread(s), blocks of {steps} steps, {len(times['floor'])} rounds")
    for name in ("floor", "ours"):
        ratio = statistics.median((rows[name] / rows["floor"]).tolist())
        print(f"  {name:<12} {1e6 * np.median(rows[name]):10.1f} us  {ratio:6.3f} of the floor")
    for name in [name for name in rows if name not in ("floor", "ours")]:
        differences = rows[name] - rows["ours"] if name.startswith("with") else rows["ours"] - rows[name]
        cost = statistics.median(differences.tolist())
        shown = name.removeprefix("no ").removeprefix("with ")
        print(f"  {shown:<12} {1e6 * cost:+10.1f} us  {100 * cost / np.median(rows['floor']):+6.2f} % of the floor")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--job", choices=list(JOBS), action="append", dest="jobs", help="all, where none is named")
    parser.add_argument("--mnist", type=Path, default=Path("../shared/data/mnist"), help="folder of the idx files")
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=0.1, help="length of a block")
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--brief", action="store_true", help="only floor and ours")
    parser.add_argument("--set", action="append", default=[], dest="overrides")
    options = parser.parse_args()
    tune_process()
    with tempfile.TemporaryDirectory() as workspace:
        for job in options.jobs or JOBS:
            measure(job, options, Path(workspace))


if __name__ == "__main__":
    main()
