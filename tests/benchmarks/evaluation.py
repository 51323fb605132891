"""What it costs to keep what a network answers to each sample: ``python -m tests.benchmarks.evaluation``.

A validation pass with and without (``loop.keep_predictions``, ``evaluate``), in turn, in one process, on one thread, by the process's CPU
time and by the clock. Told are the medians of the pairs' ratios and their quartiles. ``whole`` adds what comes at the end of a
validation that is kept: names (found once in a run), digests of files, the record.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from training.config import RunConfig
from training.core import evaluation
from training.engine.assemble import assemble
from training.engine.kept_predictions import announce_evaluation, name_samples
from training.engine.prediction_log import PredictionLog, measure_files, run_pass
from training.engine.session import Session
from training.objectives import MetricSet
from training.objectives.columns import Columns
from training.predictions.writing import EvaluationWriter, drop
from training.presets import load_preset

PART = "validation"


def pass_plainly(session: Session) -> float:
    """A validation as every run makes it."""
    metrics = MetricSet(session.objective.metrics, session.objective.tables)
    batches = ((batch.inputs, batch.targets) for batch in session.data.evaluation_batches(PART))
    autocast = session.numerics.autocast
    return evaluation.evaluate(session.answer, batches, session.objective.loss, metrics.metric, autocast=autocast)[0]


Sizes = NDArray[np.float32] | None
Called = tuple[Sequence[str] | None, Sequence[str] | None]


def pass_and_keep(session: Session, folder: Path, sizes: Sizes, called: Called | None) -> float:
    """The same, and what it answers to each sample goes to files; with what the samples are ``called`` those are finished, too."""
    columns = Columns(session.config.objective, session.objective, session.data.facts)
    metrics = MetricSet(session.objective.metrics, session.objective.tables)
    drop(folder)
    record = announce_evaluation(session, columns, PART, "benchmark", PART)
    with EvaluationWriter(folder, record, durable=False) as writer:
        log = PredictionLog(session, PART, columns, metrics, writer, sizes)
        loss, _score = run_pass(session, PART, log)
        if called is not None:
            names, digests = called
            if names is not None:
                writer.write_names(names)
            if digests is not None:
                writer.write_digests(digests)
            writer.finish({})
    return loss


def compare_times(plain: Callable[[], float], kept: Callable[[], float], pairs: int) -> list[tuple[float, float]]:
    """For each pair the CPU time of ``kept`` over that of ``plain``, less 1, and the same by the clock; which comes first changes."""
    ratios = []
    for pair in range(pairs):
        found = {}
        for run in (plain, kept) if pair % 2 else (kept, plain):
            clock, cpu = time.perf_counter(), time.process_time()
            run()
            found[run is kept] = time.process_time() - cpu, time.perf_counter() - clock
        ratios.append((found[True][0] / found[False][0] - 1, found[True][1] / found[False][1] - 1))
    return ratios


def measure(config: RunConfig, pairs: int) -> None:
    session = assemble(config, lambda phase, fraction: None)
    torch.set_num_threads(1)
    with session.data, tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        place = Path(folder) / "evaluations" / "step-00000000-validation"
        place.parent.mkdir()
        sizes = measure_files(session, PART)
        plainly = partial(pass_plainly, session)
        for what, called in (("pass", None), ("whole", name_samples(session, PART))):
            kept = partial(pass_and_keep, session, place, sizes, called)
            assert plainly() == kept()
            ratios = compare_times(plainly, kept, pairs)
            told = []
            for name, values in zip(("CPU", "clock"), zip(*ratios, strict=True), strict=True):
                ordered = sorted(values)
                low, high = ordered[len(ordered) // 4], ordered[-(len(ordered) // 4) - 1]
                told.append(f"{name} {statistics.median(ordered):+.1%} (quartiles {low:+.1%} to {high:+.1%})")
            began = time.perf_counter()
            plainly()
            size = sum(path.stat().st_size for path in place.iterdir())
            print(
                f"{config.name}, {what}: {'; '.join(told)}; {len(session.data.splits[PART]):,} samples in "
                f"{time.perf_counter() - began:.3f} s, {size / 1e6:.1f} MB; {pairs} pairs; load {os.getloadavg()[0]:.1f}",
                flush=True,
            )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["spiral", "sample", "mnist", "gpt"], help="of presets")
    parser.add_argument(
        "--mnist", default="MNIST", help="folder with train-images-idx3-ubyte and the three that belong to it"
    )
    parser.add_argument("--text", default="text.txt", help="a text of a megabyte")
    parser.add_argument("--masks", default="masks", help="a folder with images and masks")
    parser.add_argument("--set", action="append", default=[], metavar="section.key=value")
    parser.add_argument("--pairs", type=int, default=12)
    arguments = parser.parse_args()
    paths = {
        "mnist": [f"dataset.path={arguments.mnist}"],
        "gpt": [f"dataset.path={arguments.text}"],
        "segmentation": [f"dataset.path={arguments.masks}"],
    }
    for name in arguments.names:
        measure(load_preset(name, [*paths.get(name, []), *arguments.set, "precision.threads=1"]), arguments.pairs)


if __name__ == "__main__":
    main()
