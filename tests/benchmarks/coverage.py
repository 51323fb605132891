"""How often the 95 % intervals of ``training.statistics`` hold the truth, on data sets drawn from worlds whose truth is known.

    python -m tests.benchmarks.coverage [--sets 1000] [--samples 300 3000] [--only NAME...]

The truth of a metric is what two million samples of its world score. An interval that is right about its confidence holds
it in 95 % of the data sets; 92 to 98 % are asked for. Nothing here is timed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.statistics import metrics
from training.statistics.intervals import Interval, Metric, bootstrap_together, wilson
from training.statistics.ranking import discounted_gains
from training.statistics.shuffling import find_drop

Random = np.random.Generator
World = Callable[[Random, int], Metric]
ENDLESS = 2_000_000
SHARES = np.array([0.35, 0.25, 0.2, 0.12, 0.08])


def draw_classes(random: Random, n: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Targets (n,) of five classes, from 35 to 8 % of the samples, and logits (n, 5) that are right in some 70 %."""
    targets = random.choice(len(SHARES), n, p=SHARES)
    return targets, random.normal(size=(n, len(SHARES))) + 1.7 * (targets[:, None] == np.arange(len(SHARES)))


def draw_macro_f1(random: Random, n: int) -> Metric:
    targets, logits = draw_classes(random, n)
    return metrics.class_scores(targets, logits.argmax(1), len(SHARES))


def draw_auroc(random: Random, n: int) -> Metric:
    """Binary, 30 % positive."""
    positive = random.random(n) < 0.3
    return metrics.auroc(random.normal(size=n) + 1.5 * positive, positive)


def draw_auroc_of_classes(random: Random, n: int) -> Metric:
    targets, logits = draw_classes(random, n)
    return metrics.auroc(logits, targets[:, None] == np.arange(len(SHARES)))


def draw_average_precision(random: Random, n: int) -> Metric:
    positive = random.random(n) < 0.3
    return metrics.average_precision(random.normal(size=n) + 1.5 * positive, positive)


def draw_mean_iou(random: Random, n: int) -> Metric:
    """Images that are easy or hard as a whole, with four classes of which the last is in one of five."""
    support = (random.gamma(1.0, 1000.0, (n, 4)) * (random.random((n, 4)) < [1.0, 0.7, 0.5, 0.2])).astype(int)
    hits = (support * random.beta(4.0, 1.0, (n, 1)) ** np.array([0.5, 1.0, 1.0, 2.0])).astype(int)
    alarms = np.roll(support - hits, 1, axis=1)
    return metrics.count_scores(support, hits + alarms, hits)


def draw_values(random: Random, n: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Targets (n,) of a skewed distribution, and predictions whose errors grow with them."""
    targets = random.gamma(4.0, 1.0, n)
    return targets + random.normal(size=n) * (0.4 + 0.15 * targets), targets


def draw_calibration(heat: float, equal_mass: bool = False) -> World:
    """Three classes, whose logits are those of the truth times ``heat``."""

    def draw(random: Random, n: int) -> Metric:
        logits = 1.5 * random.normal(size=(n, 3))
        chances = np.exp(logits)
        targets = ((chances / chances.sum(1, keepdims=True)).cumsum(1) > random.random((n, 1))).argmax(1)
        called = np.exp(heat * logits)
        confidences = called.max(1) / called.sum(1)
        return metrics.calibration_error(confidences, logits.argmax(1) == targets, equal_mass=equal_mass)

    return draw


def draw_ndcg(random: Random, n: int) -> Metric:
    """Queries, a third of them answered perfectly, some hardly."""
    return metrics.mean(np.where(random.random(n) < 0.33, 1.0, random.beta(3.0, 1.5, n)))


def draw_perplexity(random: Random, n: int) -> Metric:
    """Sequences of unequal length that are easy or hard as a whole."""
    tokens = random.integers(20, 200, n)
    return metrics.perplexity(tokens * random.gamma(9.0, 0.3, n), tokens)


def draw_row_importance(random: Random, n: int) -> Metric:
    """Accuracy less that after the second of three columns was shuffled ten times."""
    rows = random.normal(size=(n, 3))
    truth = rows @ [1.0, 0.3, 0.0] + 0.7 * random.normal(size=n) > 0.0

    def score(inputs: NDArray[Any]) -> Metric:
        return metrics.mean((inputs @ [1.0, 0.3, 0.02] > 0.0) == truth)

    return find_drop(score(rows), *shuffle_rows(random, rows, score), rises=True)


def draw_list_importance(random: Random, n: int) -> Metric:
    """The same of the NDCG of queries of two to six items."""
    items = random.normal(size=(n, 6, 3)) + 0.7 * random.normal(size=(n, 1, 3))
    ranks = np.digitize(items @ [1.0, 0.3, 0.0] + 0.7 * random.normal(size=(n, 6)), [-1.0, 0.0, 1.0]).astype(float)
    ranks[:, 2:][random.random((n, 4)) < 0.3] = np.nan
    there = ~np.isnan(ranks)

    def score(inputs: NDArray[Any]) -> Metric:
        answers = np.full(ranks.shape, np.nan)
        answers[there] = inputs @ [1.0, 0.3, 0.02]
        return metrics.mean(discounted_gains(answers, ranks, 3))

    rows = items[there]
    return find_drop(score(rows), *shuffle_rows(random, rows, score), rises=True, owners=np.nonzero(there)[0])


def shuffle_rows(
    random: Random, rows: NDArray[Any], score: Callable[[NDArray[Any]], Metric]
) -> tuple[list[Metric], list[NDArray[np.int64]]]:
    """What the rows (m, 3) score with their second column shuffled, and from which row each has its value, ten times."""
    orders = [random.permutation(len(rows)) for _ in range(10)]
    return [score(np.stack([rows[:, 0], rows[order, 1], rows[:, 2]], axis=1)) for order in orders], orders


WORLDS: Mapping[str, World] = {
    "macro-F1": draw_macro_f1,
    "AUROC": draw_auroc,
    "AUROC of five classes": draw_auroc_of_classes,
    "average precision": draw_average_precision,
    "mean IoU": draw_mean_iou,
    "R2": lambda random, n: metrics.r2(*draw_values(random, n)),
    "RMSE": lambda random, n: metrics.rmse(*draw_values(random, n)),
    "MAE": lambda random, n: metrics.mae(*draw_values(random, n)),
    "Spearman": lambda random, n: metrics.spearman(*draw_values(random, n)),
    "ECE, overconfident": draw_calibration(1.7),
    "ECE, slightly overconfident": draw_calibration(1.2),
    "ECE, calibrated": draw_calibration(1.0),
    "ECE of equal mass, overconfident": draw_calibration(1.7, equal_mass=True),
    "NDCG": draw_ndcg,
    "perplexity": draw_perplexity,
    "importance of a table's column": draw_row_importance,
    "importance of a column of lists": draw_list_importance,
}
RATES = (0.3, 0.5, 0.9)


def draw_intervals(names: list[str], n: int, seed: int) -> Iterator[tuple[str, Interval]]:
    """By the name of the metric, its interval of one data set."""
    random = np.random.Generator(np.random.PCG64([n, seed]))
    for rate in RATES:
        yield f"accuracy of {rate:.0%}", wilson(int(random.binomial(n, rate)), n)
    for name, found in bootstrap_together({name: WORLDS[name](random, n) for name in names}, seed=seed).items():
        yield name, found[0]


def find_truths(names: list[str]) -> dict[str, float]:
    """What endless samples score."""
    random = np.random.Generator(np.random.PCG64(2**40))
    return {f"accuracy of {rate:.0%}": rate for rate in RATES} | {
        name: WORLDS[name](random, ENDLESS).value for name in names
    }


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sets", type=int, default=1000)
    options.add_argument("--samples", type=int, nargs="+", default=[300, 3000])
    options.add_argument("--only", nargs="+", choices=list(WORLDS), default=list(WORLDS), metavar="NAME")
    chosen = options.parse_args()
    truths = find_truths(chosen.only)
    print("| metric | samples | truth | holds it | too low | too high | mean width |\n|---|---|---|---|---|---|---|")
    for n in chosen.samples:
        found: dict[str, list[Interval]] = {name: [] for name in truths}
        for seed in range(chosen.sets):
            for name, interval in draw_intervals(chosen.only, n, seed):
                found[name].append(interval)
        for name, truth in truths.items():
            low, high = (np.array([getattr(each, side) for each in found[name]]) for side in ("low", "high"))
            under, over = (high < truth).mean(), (low > truth).mean()
            cells = (name, n, f"{truth:.4f}", f"{1 - under - over:.1%}", f"{under:.1%}", f"{over:.1%}")
            print("", *cells, f"{(high - low).mean():.4f}", sep=" | ", end=" |\n", flush=True)


if __name__ == "__main__":
    main()
