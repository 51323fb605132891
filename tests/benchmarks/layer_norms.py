"""What it costs a run to record the norms of its layers: ``python -m tests.benchmarks.layer_norms``.

The spiral, the MNIST preset's network and a GPT on a text, each in one process: stretches of steps with and without, in pairs, in
turn, on one thread, by the process's CPU time, so that a machine's other work falls on both or on neither. Told is the median of the pairs' ratios. ``--every N`` records each N-th step
instead of those that the run would choose, ``--mnist`` and ``--text`` name the data.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import torch

from training.config import RunConfig
from training.data import MicroBatches
from training.engine.assemble import assemble
from training.engine.session import Session
from training.engine.step import train_step
from training.engine.watches.column_log import ColumnLog
from training.engine.watches.layer_norms import LayerNorms
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


def measure(config: RunConfig, pairs: int, seconds: float) -> None:
    session = assemble(config, lambda phase, fraction: None)
    torch.set_num_threads(1)
    [watch] = session.watches
    assert isinstance(watch, LayerNorms)
    with session.data, tempfile.TemporaryDirectory() as folder:
        log, stream = ColumnLog(watch, Path(folder), 0), windows(session)
        take_steps(session, stream, log, 5)
        step = take_steps(session, stream, log, 10) / 10
        count = max(1, round(seconds / step / watch.every)) * watch.every
        ratios, plain = [], []
        for pair in range(pairs):
            found = {}
            for watched in (pair % 2 == 0, pair % 2 == 1):
                session.watches[:] = [watch] if watched else []
                found[watched] = take_steps(session, stream, log if watched else None, count)
            ratios.append(found[True] / found[False] - 1)
            plain.append(found[False] / count)
        log.close()
    low, high = sorted(ratios)[pairs // 4], sorted(ratios)[-(pairs // 4) - 1]
    print(
        f"{config.name}: every {watch.every} steps, {statistics.median(ratios):+.2%} (quartiles {low:+.2%} to {high:+.2%}) of "
        f"{statistics.median(plain) * 1e3:.2f} ms a step; {pairs} pairs of {count} steps, load {os.getloadavg()[0]:.1f}",
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
