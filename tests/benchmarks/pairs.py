"""How often ``training.statistics.paired`` calls two models different that are alike, and finds the difference of two that are not.

    python -m tests.benchmarks.pairs [--pairs 200] [--samples 1200] [--only NAME...]

Both models of a pair are drawn, answer the same samples and err in part alike. Without a difference 5 % of the pairs are
called different by chance; at most 7 % are asked for. Nothing here is timed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.benchmarks.coverage import SHARES
from training.statistics import metrics
from training.statistics.intervals import Metric
from training.statistics.paired import Comparison, compare, mcnemar

Random = np.random.Generator
EDGE = 0.1
"""How much more of the signal B has, or less of the error, where there is a difference."""


def share(random: Random, shape: tuple[int, ...]) -> list[NDArray[Any]]:
    """The errors of A and B, N(0, 1) each, with a correlation of 0.6."""
    common = random.normal(size=shape)
    return [np.sqrt(0.6) * common + np.sqrt(0.4) * random.normal(size=shape) for _ in "AB"]


def classify(random: Random, n: int, edge: float) -> tuple[NDArray[Any], list[NDArray[Any]]]:
    """Targets (n,) and the logits (n, 5) of both."""
    targets = random.choice(len(SHARES), n, p=SHARES)
    signal = 1.7 * (targets[:, None] == np.arange(len(SHARES)))
    first, second = share(random, signal.shape)
    return targets, [signal + first, signal * (1.0 + edge) + second]


def compare_accuracy(random: Random, n: int, edge: float, seed: int) -> Comparison:
    targets, logits = classify(random, n, edge)
    first, second = (each.argmax(1) == targets for each in logits)
    return compare(metrics.mean(first), metrics.mean(second), seed=seed, chance=mcnemar(first, second))


def compare_f1(random: Random, n: int, edge: float, seed: int) -> Comparison:
    targets, logits = classify(random, n, edge)
    return compare_both(lambda each: metrics.class_scores(targets, each.argmax(1), len(SHARES)), logits, seed)


def compare_auroc(random: Random, n: int, edge: float, seed: int) -> Comparison:
    targets, logits = classify(random, n, edge)
    return compare_both(lambda each: metrics.auroc(each, targets[:, None] == np.arange(len(SHARES))), logits, seed)


def compare_rmse(random: Random, n: int, edge: float, seed: int) -> Comparison:
    targets = random.gamma(4.0, 1.0, n)
    scale = 0.4 + 0.15 * targets
    first, second = share(random, targets.shape)
    return compare_both(
        lambda each: metrics.rmse(each, targets),
        [targets + scale * first, targets + scale * second * (1.0 - edge)],
        seed,
    )


def compare_perplexity(random: Random, n: int, edge: float, seed: int) -> Comparison:
    tokens, base = random.integers(20, 200, n), random.gamma(9.0, 0.3, n)
    first, second = (base * (1.0 + 0.2 * each) for each in share(random, base.shape))
    return compare_both(lambda each: metrics.perplexity(tokens * each, tokens), [first, second - edge * 0.1], seed)


def compare_both(measure: Callable[[NDArray[Any]], Metric], both: list[NDArray[Any]], seed: int) -> Comparison:
    first, second = map(measure, both)
    return compare(first, second, seed=seed)


KINDS: Mapping[str, Callable[[Random, int, float, int], Comparison]] = {
    "accuracy": compare_accuracy,
    "macro-F1": compare_f1,
    "AUROC of five classes": compare_auroc,
    "RMSE": compare_rmse,
    "perplexity": compare_perplexity,
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pairs", type=int, default=200)
    options.add_argument("--samples", type=int, nargs="+", default=[1200])
    options.add_argument("--only", nargs="+", choices=list(KINDS), default=list(KINDS), metavar="NAME")
    chosen = options.parse_args()
    print("| metric | samples | alike, called different | apart by | found |\n|---|---|---|---|---|")
    for n in chosen.samples:
        for name in chosen.only:
            alike, apart = (
                [
                    KINDS[name](np.random.Generator(np.random.PCG64([n, seed])), n, edge, seed)
                    for seed in range(chosen.pairs)
                ]
                for edge in (0.0, EDGE)
            )
            wrong, right = (np.mean([each.differs for each in found]) for found in (alike, apart))
            difference = np.mean([each.difference.value for each in apart])
            print(f"| {name} | {n} | {wrong:.1%} | {difference:.4f} | {right:.1%} |", flush=True)


if __name__ == "__main__":
    main()
