"""The metrics of an evaluation as functions of its columns, for intervals and baselines: names and definitions are the run's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from training.core.kept_scores import count_nearer
from training.facts import IGNORED
from training.predictions.probabilities import reach_threshold
from training.predictions.record import OF_ALL_SCORES, ONLY_LARGEST, EvaluationRecord
from training.statistics import metrics as of
from training.statistics import ranking
from training.statistics.grouped import Groups, Totals, count_cells, rate_intervals, sum_columns
from training.statistics.intervals import Interval, Metric

Columns = Mapping[str, NDArray[Any]]
_MOST_COMPARED = 20_000
"""Embeddings that are compared with each other once more: their intervals take the time of the metric itself."""
_ROWS = 1 << 14
_TOP = 5


Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Rate:
    """The share of the samples that are ``right`` among those that are ``counted``, bool (n,) both."""

    right: Flags
    counted: Flags

    @property
    def value(self) -> float:
        return self.metric.value

    @property
    def metric(self) -> Metric:
        """As a function of how often each sample counts."""
        return of.ratio(self.right, self.counted)

    def limit(self, groups: Groups) -> list[Interval]:
        """Wilson's."""
        both = np.stack([self.right, self.counted], axis=1) & self.counted[:, None]
        parts, wholes = np.split(sum_columns(both, groups), 2, axis=-1)
        return rate_intervals(parts, wholes)


@dataclass(frozen=True, eq=False)
class Rates:
    """A share for each class: ``count`` gives the successes and how many they are of, (classes,) both, or (groups, classes)."""

    count: Callable[[Groups], tuple[Totals, Totals]]
    make: Callable[[], Metric]

    @property
    def metric(self) -> Metric:
        """As a function of how often each sample counts."""
        return self.make()

    def limit(self, groups: Groups) -> list[Interval]:
        """Wilson's."""
        return rate_intervals(*self.count(groups))


@dataclass(frozen=True)
class Scores:
    """``whole`` has a number for all samples by the metric's name, ``each`` one for each class, label or value: rates get Wilson's
    interval, the others the bootstrap's. ``lacking`` says of other metrics why the columns do not tell them, a clause."""

    whole: dict[str, Rate | Metric] = field(default_factory=dict)
    each: dict[str, Rates | Metric] = field(default_factory=dict)
    lacking: dict[str, str] = field(default_factory=dict)


def measure_columns(record: EvaluationRecord, columns: Columns, top: int) -> Scores:
    """``columns`` are those of the record, or of a baseline on the same samples. ``top``: how many places count in a ranking, or
    how many neighbors."""
    if "embedding" in columns:
        return _measure_embeddings(columns, top)
    measure: Mapping[str, Callable[[], Scores]] = {
        "class": partial(_measure_classes, record, columns),
        "labels": partial(_measure_labels, columns, record.threshold),
        "values": partial(_measure_values, columns),
        "tasks": partial(_measure_tasks, record, columns),
        "mask": partial(_measure_masks, columns),
        "tokens": partial(_measure_tokens, columns),
        "ranks": partial(_measure_ranks, columns, top),
    }
    return measure[record.target]()


def _measure_classes(record: EvaluationRecord, columns: Columns) -> Scores:
    counted = np.flatnonzero(columns["target"] >= 0)
    target, prediction = columns["target"][counted], columns["prediction"][counted]
    classes, right = len(record.names), prediction == target
    every = np.ones(len(target), bool)
    hits = np.where(right, target, -1)
    whole: dict[str, Rate | Metric] = {"accuracy": Rate(right, every)}
    scores, log_sum = columns["scores"][counted], columns["log_sum"][counted]
    f1 = of.class_scores(target, prediction, classes, macro=False)
    each: dict[str, Rates | Metric] = {
        "precision": Rates(
            lambda groups: (count_cells(hits, classes, groups), count_cells(prediction, classes, groups)),
            lambda: of.rescore(f1, of.precision, classes),
        ),
        "recall": Rates(
            lambda groups: (count_cells(hits, classes, groups), count_cells(target, classes, groups)),
            lambda: of.rescore(f1, of.recall, classes),
        ),
        "f1": f1,
    }
    if record.task == "binary":
        second = np.exp(np.minimum(scores[:, 1] - log_sum, 0.0))
        positive = target == 1
        whole |= {
            "f1": of.count_scores(positive[:, None], (prediction == 1)[:, None], (positive & right)[:, None], of.f1),
            "precision": Rate(positive & right, prediction == 1),
            "recall": Rate(positive & right, positive),
            "auroc": of.auroc(second[:, None], positive[:, None]),
            "average_precision": of.average_precision(second[:, None], positive[:, None]),
            "calibration_error": of.calibration_error(second, positive),
        }
        return Scores(whole, each)
    whole["f1"] = of.average(f1)
    whole["calibration_error"] = of.calibration_error(np.exp(np.minimum(scores.max(1) - log_sum, 0.0)), right)
    if classes > _TOP:
        above = (scores > columns["target_score"][counted][:, None]).sum(1)
        whole["top5_accuracy"] = Rate(above < _TOP, every)
    if scores.shape[1] == classes:
        chances, truth = np.exp(scores - log_sum[:, None]), target[:, None] == np.arange(classes)
        curves = {"auroc": of.auroc, "average_precision": of.average_precision}
        columnwise = {name: metric(chances, truth, macro=False) for name, metric in curves.items()}
        each |= columnwise
        whole |= {name: of.average(metric) for name, metric in columnwise.items()}
        return Scores(whole, each)
    return Scores(whole, each, dict.fromkeys(OF_ALL_SCORES, ONLY_LARGEST))


def _measure_labels(columns: Columns, threshold: float) -> Scores:
    truth = columns["target"] > 0
    scores = columns["scores"].astype(np.float32)
    told = reach_threshold(scores, threshold)
    whole, answered, right = (each.astype(np.int64) for each in (truth, told, truth & told))
    counts = whole, answered, right
    of_all, told_of_all, right_of_all = (each.sum(1, keepdims=True) for each in counts)
    f1 = of.count_scores(*counts, score=of.f1, macro=False)
    auroc, precision = (curve(scores, truth, macro=False) for curve in (of.auroc, of.average_precision))
    return Scores(
        {
            "f1": of.average(f1),
            "f1_micro": of.count_scores(of_all, told_of_all, right_of_all, of.f1),
            "subset_accuracy": Rate((truth == told).all(1), np.ones(len(truth), bool)),
            "auroc": of.average(auroc),
            "mean_average_precision": of.average(precision),
        },
        {
            "precision": Rates(
                lambda groups: (sum_columns(right, groups), sum_columns(answered, groups)),
                partial(of.count_scores, *counts, score=of.precision, macro=False),
            ),
            "recall": Rates(
                lambda groups: (sum_columns(right, groups), sum_columns(whole, groups)),
                partial(of.count_scores, *counts, score=of.recall, macro=False),
            ),
            "f1": f1,
            "auroc": auroc,
            "average_precision": precision,
        },
    )


def _measure_values(columns: Columns) -> Scores:
    pair = columns["prediction"], columns["target"]
    metrics = {"r2": of.r2, "rmse": of.rmse, "mae": of.mae, "spearman": of.spearman}
    whole: dict[str, Rate | Metric] = {name: metric(*pair) for name, metric in metrics.items()}
    if pair[0].shape[1] == 1:
        return Scores(whole)
    return Scores(whole, {name: metric(*pair, macro=False) for name, metric in metrics.items()})


def _measure_tasks(record: EvaluationRecord, columns: Columns) -> Scores:
    whole: dict[str, Rate | Metric] = {}
    for number, (name, classes) in enumerate(zip(record.names, record.target_classes, strict=True)):
        truth, answer = columns["target"][:, number], columns["prediction"][:, number]
        if not classes:
            whole |= {f"{name}/{metric.__name__}": metric(answer, truth) for metric in (of.r2, of.rmse, of.mae)}
            continue
        target, prediction = truth.astype(np.int64), answer.astype(np.int64)
        whole[f"{name}/accuracy"] = Rate(target == prediction, np.ones(len(target), bool))
        if len(classes) > 2:
            whole[f"{name}/f1"] = of.class_scores(target, prediction, len(classes))
        else:
            chance = columns["probability"][:, number]
            second = np.where(prediction == 1, chance, 1.0 - chance)
            whole[f"{name}/auroc"] = of.auroc(second[:, None], (target == 1)[:, None])
    return Scores(whole)


def _measure_masks(columns: Columns) -> Scores:
    support, predicted, correct = (columns[name].astype(np.int64) for name in ("support", "predicted", "correct"))
    iou, dice = (of.count_scores(support, predicted, correct, score, macro=False) for score in (of.iou, of.f1))
    return Scores(
        {
            "mean_iou": of.average(iou),
            "dice": of.average(dice),
            "pixel_accuracy": of.ratio(correct.sum(1), support.sum(1)),
        },
        {"iou": iou, "dice": dice},
    )


def _measure_tokens(columns: Columns) -> Scores:
    target, found = columns["target"], []
    for start in range(0, len(target), _ROWS):
        truth, losses, answers = (
            columns[name][start : start + _ROWS] for name in ("target", "token_loss", "prediction")
        )
        counted = truth != IGNORED
        nats = np.where(counted, losses, 0.0).sum(1, dtype=np.float64)
        found.append(np.stack([nats, counted.sum(1), (counted & (truth == answers)).sum(1)]))
    nats, counts, hits = np.concatenate(found, axis=1)
    return Scores(
        {
            "perplexity": of.perplexity(nats, counts.astype(np.int64)),
            "accuracy": of.ratio(hits, counts),
            "bits_per_character": of.bits_per_token(nats, counts.astype(np.int64)),
        }
    )


def _measure_ranks(columns: Columns, top: int) -> Scores:
    scores, ranks = np.asarray(columns["scores"]), np.asarray(columns["target"])
    return Scores(
        {
            "ndcg": of.mean(ranking.discounted_gains(scores, ranks, top)),
            "mrr": of.mean(ranking.reciprocal_ranks(scores, ranks)),
            "pair_accuracy": of.ratio(*ranking.ordered_pairs(scores, ranks)),
        }
    )


def _measure_embeddings(columns: Columns, top: int) -> Scores:
    if len(columns["target"]) > _MOST_COMPARED:
        why = f"comparing more than {_MOST_COMPARED:,} samples with each other takes long"
        return Scores(lacking=dict.fromkeys(("recall_at_1", "recall_at_k"), why))
    (nearer,) = count_nearer(*(torch.from_numpy(np.array(columns[name])) for name in ("embedding", "target")))
    places_before, known = nearer.numpy(), nearer.numpy() >= 0
    whole: dict[str, Rate | Metric] = {
        name: Rate(known & (places_before < places), known)
        for name, places in (("recall_at_1", 1), ("recall_at_k", top))
    }
    return Scores(whole)
