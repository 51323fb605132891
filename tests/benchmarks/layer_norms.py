"""What it costs a run to record the norms of its layers: ``python -m tests.benchmarks.layer_norms``.

The spiral, the MNIST preset's network and a GPT on a text, each in one process, on one thread, by the process's CPU time, so that a
machine's other work falls on everything alike. Told are two figures:

* ``share``: what one record costs, over the time of the steps from one record to the next. Four steps in turn: one that is recorded
  (its row fetched and written at once, though a run fetches several together), the next, into which falls what the copy of the
  weights drove out of the caches, and two that are not; the cost is the first two less the last two. So the difference is
  measured against the noise of single steps. To it comes what the watch asks at each step that it does not record. The median,
  with its 95 % interval by the bootstrap.
* ``stretches``: whole stretches of steps with and without, in pairs, in turn. The median of the pairs' ratios and their quartiles,
  wider by as much as a stretch is noisier than a record is dear.

``--every N`` records each N-th step instead of those that the run would choose, ``--mnist`` and ``--text`` name the data.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from training.config import RunConfig
from training.data import MicroBatches
from training.engine.assemble import assemble
from training.engine.session import Session
from training.engine.step import train_step
from training.engine.watches.column_log import ColumnLog
from training.engine.watches.layer_norms import LayerNorms
from training.engine.watches.watch import Given
from training.presets import load_preset

NEVER = 1 << 60


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
    session: Session, stream: Iterator[MicroBatches], watch: LayerNorms, log: ColumnLog, rounds: int
) -> tuple[list[float], list[float]]:
    """CPU seconds that each of ``rounds`` records costs, and those of a step without."""
    costs, plain = [], []
    for _ in range(rounds):
        seconds = []
        for every in (1, NEVER, NEVER, NEVER):
            watch.every = every
            seconds.append(take_steps(session, stream, log, 1))
        costs.append(seconds[0] + seconds[1] - seconds[2] - seconds[3])
        plain.append((seconds[2] + seconds[3]) / 2)
    return costs, plain


def measure_questions(session: Session, watch: LayerNorms, log: ColumnLog, count: int = 10_000) -> float:
    """CPU seconds that the watch takes at a step which it does not record."""
    given = Given(session.objective.loss, session.clip, session.guard)
    watch.every = NEVER
    began = time.process_time()
    for step in range(2, count + 2):
        watch.wrap(step, given)
        log.add(step)
    return (time.process_time() - began) / count


def find_interval(values: Sequence[float], resamples: int = 4000) -> tuple[float, float]:
    """The 95 % interval of the median of ``values`` by the bootstrap."""
    drawn = np.random.default_rng(0).choice(np.asarray(values), (resamples, len(values)))
    low, high = np.percentile(np.median(drawn, 1), (2.5, 97.5))
    return float(low), float(high)


def measure(config: RunConfig, pairs: int, seconds: float) -> None:
    session = assemble(config, lambda phase, fraction: None)
    torch.set_num_threads(1)
    [watch] = session.watches
    assert isinstance(watch, LayerNorms)
    every = watch.every
    with session.data, tempfile.TemporaryDirectory() as folder:
        log, stream = ColumnLog(watch, Path(folder), 0), windows(session)
        take_steps(session, stream, log, 5)
        step = take_steps(session, stream, log, 10) / 10
        rounds = max(pairs, round(pairs * seconds / step / 4))
        costs, plain = measure_records(session, stream, watch, log, rounds)
        asked = measure_questions(session, watch, log)
        count = max(1, round(seconds / step / every)) * every
        watch.every = every
        ratios = []
        for pair in range(pairs):
            found = {}
            for watched in (pair % 2 == 0, pair % 2 == 1):
                session.watches[:] = [watch] if watched else []
                found[watched] = take_steps(session, stream, log if watched else None, count)
            ratios.append(found[True] / found[False] - 1)
        log.close()
    step = statistics.median(plain)
    share, below, above = ((cost / every + asked) / step for cost in (statistics.median(costs), *find_interval(costs)))
    low, high = sorted(ratios)[pairs // 4], sorted(ratios)[-(pairs // 4) - 1]
    print(
        f"{config.name}: every {every} steps of {step * 1e3:.2f} ms; share {share:+.2%} (95 % {below:+.2%} to {above:+.2%}, "
        f"{rounds} records of {statistics.median(costs) * 1e3:.3f} ms); stretches {statistics.median(ratios):+.2%} "
        f"(quartiles {low:+.2%} to {high:+.2%}, {pairs} pairs of {count} steps); load {os.getloadavg()[0]:.1f}",
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
    parser.add_argument("--every", type=int, help="record each so many steps")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=1.0, help="of a stretch")
    arguments = parser.parse_args()
    paths = {"mnist": [f"dataset.path={arguments.mnist}"], "gpt": [f"dataset.path={arguments.text}"]}
    every = [f"loop.layer_norms_every_steps={arguments.every}"] if arguments.every else []
    for name in arguments.names:
        measure(
            load_preset(name, [*paths.get(name, []), *every, "precision.threads=1"]), arguments.pairs, arguments.seconds
        )


if __name__ == "__main__":
    main()
