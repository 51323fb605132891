"""Seconds and memory of the intervals of an evaluation: 2,000 resamples of 50,000 samples of 100 classes.

    python -m tests.benchmarks.intervals [--samples 50000] [--classes 100] [--only NAME...]

Each metric in a process of its own, whose peak memory counts in full: the evaluation's data, NumPy and Python, too.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from collections.abc import Callable, Mapping

import numpy as np

from training.statistics import metrics
from training.statistics.intervals import Interval, Metric, bootstrap_together

Make = Callable[[np.random.Generator, int, int], Metric]


def make_f1(random: np.random.Generator, n: int, classes: int) -> Metric:
    targets = random.integers(0, classes, n)
    return metrics.class_scores(
        targets, np.where(random.random(n) < 0.7, targets, random.integers(0, classes, n)), classes
    )


def make_auroc(random: np.random.Generator, n: int, classes: int) -> Metric:
    targets, scores = random.integers(0, classes, n), random.standard_normal((n, classes), np.float32)
    scores[np.arange(n), targets] += 1.5
    return metrics.auroc(scores, targets[:, None] == np.arange(classes))


def make_iou(random: np.random.Generator, n: int, classes: int) -> Metric:
    support = random.integers(0, 1000, (n, classes), np.int32)
    correct = (support * random.random((n, 1))).astype(np.int32)
    return metrics.count_scores(support, support, correct)


def make_r2(random: np.random.Generator, n: int, classes: int) -> Metric:
    targets = random.normal(size=n)
    return metrics.r2(targets + random.normal(size=n), targets)


def make_ece(random: np.random.Generator, n: int, classes: int) -> Metric:
    confidences = random.beta(3.0, 1.0, n)
    return metrics.calibration_error(confidences, random.random(n) < confidences**1.3)


MAKERS: Mapping[str, Make] = {
    "macro-F1": make_f1,
    "AUROC": make_auroc,
    "mean IoU": make_iou,
    "R2": make_r2,
    "ECE": make_ece,
}


def measure(names: list[str], n: int, classes: int) -> tuple[float, float, float, list[Interval]]:
    """Seconds on the clock and of the CPU, MB at the peak, and the intervals."""
    random = np.random.Generator(np.random.PCG64(0))
    start, used = time.perf_counter(), time.process_time()
    found = bootstrap_together({name: MAKERS[name](random, n, classes) for name in names})
    seconds, used = time.perf_counter() - start, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    return seconds, used, peak, [each[0] for each in found.values()]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--samples", type=int, default=50_000)
    options.add_argument("--classes", type=int, default=100)
    options.add_argument("--only", nargs="+", choices=list(MAKERS), default=list(MAKERS), metavar="NAME")
    chosen = options.parse_args()
    print("| metric | seconds | CPU seconds | MB at the peak | interval |\n|---|---|---|---|---|")
    context = multiprocessing.get_context("spawn")
    for names in [*([name] for name in chosen.only), chosen.only]:
        with context.Pool(1) as pool:
            seconds, used, peak, found = pool.apply(measure, (names, chosen.samples, chosen.classes))
        told = f"{found[0].value:.4f} ({found[0].low:.4f} to {found[0].high:.4f})" if len(names) == 1 else ""
        print(f"| {names[0] if told else 'together'} | {seconds:.1f} | {used:.1f} | {peak:.0f} | {told} |", flush=True)


if __name__ == "__main__":
    main()
