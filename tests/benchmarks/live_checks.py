"""What the live checks cost a run: ``python -m tests.benchmarks.live_checks``.

Norms of layers, dead and saturated units, and the looks of the diagnosis, on the spiral, the MNIST preset's network and a GPT on a
text; in one process, on one thread, by the process's CPU time, so that a machine's other work falls on everything alike. Told are:

* ``norms``, ``units``: what one record costs, over the time of the steps from one record to the next. Four steps in turn: one that is
  looked at (its row fetched and written at once, though a run fetches several together), the next, into which falls what the record
  drove out of the caches, and two that are not; the cost is the first two less the last two. So the difference is measured against
  the noise of single steps. The median, with its 95 % interval by the bootstrap.
* ``looks``: the CPU time inside the looks of one run, over that of the run without it.
* ``runs``: whole runs with all live checks and with none, in pairs, in turn, from their first step to their end, validation and
  checkpoints included. The median of the pairs' ratios with its 95 % interval, wider by as much as a run is noisier than a look.

``--mnist`` and ``--text`` name the data; ``--steps`` says how long a run is.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch

from training.config import RunConfig
from training.data import MicroBatches
from training.diagnosis import LiveDiagnosis
from training.engine.assemble import assemble
from training.engine.runs.hooks import Hooks
from training.engine.runs.run import start_run
from training.engine.session import Session
from training.engine.step import train_step
from training.engine.watches.column_log import ColumnLog
from training.engine.watches.layer_norms import LayerNorms
from training.engine.watches.units import Units
from training.engine.watches.watch import Watch
from training.events import AttemptStarted, Completed, Event
from training.presets import load_preset


def windows(session: Session) -> Iterator[MicroBatches]:
    """Without end."""
    epoch = 0
    while True:
        yield from session.data.steps(epoch)
        epoch += 1


def take_steps(session: Session, stream: Iterator[MicroBatches], log: ColumnLog | None, count: int) -> float:
    """CPU seconds of so many steps, without the waiting for samples to be read."""
    seconds = 0.0
    for _ in range(count):
        window = next(stream)
        began = time.process_time()
        loss, norm = train_step(session, window, 1e-4)
        session.progress.count_step()
        if log is not None:
            log.add(session.progress.step)
        seconds += time.process_time() - began
        float(loss), float(norm)
    began = time.process_time()
    if log is not None:
        log.flush(session.progress.step)
    return seconds + time.process_time() - began


def measure_records(
    session: Session, stream: Iterator[MicroBatches], watch: Watch, log: ColumnLog, rounds: int
) -> tuple[list[float], list[float]]:
    """CPU seconds that each of ``rounds`` looks of ``watch`` costs, and those of a step without."""
    costs, plain = [], []
    for _ in range(rounds):
        seconds = []
        for watches in ([watch], [], [], []):
            session.watches[:] = watches
            seconds.append(take_steps(session, stream, log if watches else None, 1))
        costs.append(seconds[0] + seconds[1] - seconds[2] - seconds[3])
        plain.append((seconds[2] + seconds[3]) / 2)
    return costs, plain


def find_interval(values: Sequence[float], resamples: int = 4000) -> tuple[float, float]:
    """The 95 % interval of the median of ``values`` by the bootstrap."""
    drawn = np.random.default_rng(0).choice(np.asarray(values), (resamples, len(values)))
    low, high = np.percentile(np.median(drawn, 1), (2.5, 97.5))
    return float(low), float(high)


def measure_watches(config: RunConfig, pairs: int, seconds: float) -> None:
    """Of each watch alone."""
    session = assemble(config, lambda phase, fraction: None)
    watches = [watch for watch in session.watches if isinstance(watch, LayerNorms | Units)]
    with session.data, tempfile.TemporaryDirectory() as folder:
        stream = windows(session)
        session.watches[:] = []
        take_steps(session, stream, None, 5)
        rounds = max(pairs, round(pairs * seconds / 4 / (take_steps(session, stream, None, 10) / 10)))
        for watch in watches:
            log = ColumnLog(watch, Path(folder), 0)
            every, looks = watch.every, watch.steps if isinstance(watch, Units) else 1
            watch.every = 1
            costs, plain = measure_records(session, stream, watch, log, rounds)
            log.close()
            step = statistics.median(plain)
            share, low, high = (
                cost * looks / every / step for cost in (statistics.median(costs), *find_interval(costs))
            )
            print(
                f"{config.name} {watch.file}: {looks} of {every} steps of {step * 1e3:.2f} ms; {share:+.2%} (95 % {low:+.2%} to "
                f"{high:+.2%}, {rounds} looks of {statistics.median(costs) * 1e3:.3f} ms); load {os.getloadavg()[0]:.1f}",
                flush=True,
            )


def time_run(config: RunConfig) -> float:
    """CPU seconds of a run from its first step to its end."""
    moments = []

    def watch(event: Event) -> None:
        if isinstance(event, AttemptStarted | Completed):
            moments.append(time.process_time())

    with tempfile.TemporaryDirectory() as workspace:
        start_run(config, Path(workspace), Hooks(watch=watch))
    return moments[-1] - moments[0]


def measure_looks(config: RunConfig) -> None:
    """Of the looks of the diagnosis, in a run of their own."""
    spent, inside = 0.0, False

    def count(method: Callable[..., None]) -> Callable[..., None]:
        def counted(*arguments: object) -> None:
            nonlocal spent, inside
            if inside:
                return method(*arguments)
            began, inside = time.process_time(), True
            try:
                return method(*arguments)
            finally:
                inside = False
                spent += time.process_time() - began

        return counted

    time_run(config)  # imports what looks import once
    with ExitStack() as stack:
        for name in ("_look", "resume", "end"):
            stack.enter_context(patch.object(LiveDiagnosis, name, count(getattr(LiveDiagnosis, name))))
        whole = time_run(config)
    print(f"{config.name} looks: {spent * 1e3:.1f} ms, {spent / (whole - spent):+.2%} of the run", flush=True)


def time_pair(config: RunConfig, plain: RunConfig, watched_first: bool) -> float:
    """What the live checks add to a run, as a share of it."""
    found = {}
    for watched in (watched_first, not watched_first):
        if watched:
            found[True] = time_run(config)
            continue
        with (
            patch.object(LiveDiagnosis, "_look", lambda *_: None),
            patch.object(LiveDiagnosis, "resume", lambda *_: None),
            patch.object(LiveDiagnosis, "end", lambda *_: None),
        ):
            found[False] = time_run(plain)
    return found[True] / found[False] - 1


def measure_runs(load: Callable[..., RunConfig], pairs: int) -> None:
    """Of all live checks together."""
    config, plain = load(), load("loop.layer_norms=false")
    ratios = [time_pair(config, plain, pair % 2 == 0) for pair in range(pairs)]
    low, high = find_interval(ratios)
    print(
        f"{config.name} runs: {statistics.median(ratios):+.2%} (95 % {low:+.2%} to {high:+.2%}, {pairs} pairs); load "
        f"{os.getloadavg()[0]:.1f}",
        flush=True,
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["spiral", "mnist", "gpt"], help="of presets")
    parser.add_argument(
        "--mnist", default="MNIST", help="folder with train-images-idx3-ubyte and the three that belong to it"
    )
    parser.add_argument("--text", default="text.txt", help="a text of a megabyte")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=1.0, help="of steps, for each pair, to measure a watch alone")
    parser.add_argument("--steps", type=int, help="of a run; by default 2,000 of the spiral and 100 of the others")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    paths = {"mnist": [f"dataset.path={arguments.mnist}"], "gpt": [f"dataset.path={arguments.text}"]}
    for name in arguments.names:
        steps = arguments.steps or (2000 if name == "spiral" else 100)
        settings = [*paths.get(name, []), "precision.threads=1", f"loop.max_steps={steps}", "loop.epochs=999"]
        measure_watches(load_preset(name, settings), arguments.pairs, arguments.seconds)
        measure_looks(load_preset(name, settings))
        measure_runs(lambda *more, name=name, settings=settings: load_preset(name, [*settings, *more]), arguments.pairs)


if __name__ == "__main__":
    main()
