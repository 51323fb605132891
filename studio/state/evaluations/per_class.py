"""How well each class, label or value is told: of all samples as the evaluation measured it, of a selection counted once more."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from studio.state.formats import format_metric
from training.predictions import Evaluation, EvaluationRecord
from training.predictions.probabilities import reach_threshold
from training.statistics.grouped import (
    Groups,
    Totals,
    count_cells,
    f1_intervals,
    mean_intervals,
    rate_intervals,
    sum_columns,
)
from training.statistics.intervals import Interval, ratio_intervals, turn_into_f1

Mask = NDArray[np.bool_]
Numbers = NDArray[np.integer]


class Figure(NamedTuple):
    """A number and its limits; None where there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None


def describe_figure(name: str, figure: Figure, *, in_lines: bool = False) -> str:
    """A figure of the metric ``name`` with its limits, in a second line where ``in_lines``; "–" where it is not known."""
    if figure.value is None or math.isnan(figure.value):
        return "–"
    words = format_metric(name, figure.value)
    if figure.low is None or figure.high is None:
        return words
    limits = f"{format_metric(name, figure.low)} to {format_metric(name, figure.high)}"
    return f"{words}\n{limits}" if in_lines else f"{words} ({limits})"


@lru_cache(2)
def find_groups(evaluation: Evaluation) -> Groups:
    """A whole number from 0 on for each sample, (n,), the same for those that belong together; None of data without groups."""
    if not evaluation.has("group"):
        return None
    return np.asarray(np.unique(evaluation.column("group"), return_inverse=True)[1])


def choose_groups(evaluation: Evaluation, rows: Mask | NDArray[np.intp] | slice) -> Groups:
    """Those of some samples."""
    groups = find_groups(evaluation)
    return None if groups is None else groups[rows]


class PerClass(NamedTuple):
    """``support`` counts samples (pixels, of masks) of each name, () where they have no classes; ``figures`` has one for each name by
    the metric's name."""

    names: Sequence[str]
    support: Sequence[int]
    figures: Mapping[str, Sequence[Figure]]


def measure_classes(evaluation: Evaluation, mask: Mask | None) -> PerClass:
    """Of the samples in ``mask``, (n,), or of all. Of a selection there are only metrics that are counted at once: precision,
    recall and F1, of masks IoU and Dice, of values RMSE and MAE."""
    record = evaluation.record
    if record.target == "mask":
        return _measure_masks(evaluation, mask)
    if record.target == "tasks":
        return _measure_tasks(evaluation, mask)
    counts = _count(evaluation, mask)
    support = () if counts is None else _add_groups(counts[0])
    if mask is None:
        return PerClass(record.names, support, _of_all(record))
    if counts is None:
        return PerClass(record.names, support, _measure_values(evaluation, mask))
    figures = _find_rates(*counts)
    known = [name for name in record.per_class if name in figures] or list(figures)
    return PerClass(record.names, support, {name: figures[name] for name in known})


def list_task_classes(record: EvaluationRecord) -> list[tuple[int, int]]:
    """Of several tasks: the number of the task and of its class, for each row of the table."""
    return [(task, number) for task, classes in enumerate(record.target_classes) for number in range(len(classes))]


def _measure_tasks(evaluation: Evaluation, mask: Mask | None) -> PerClass:
    """The classes of each task that has some, one task after the other."""
    record = evaluation.record
    rows = slice(None) if mask is None else mask
    target, prediction = (evaluation.column(name)[rows].astype(np.int64) for name in ("target", "prediction"))
    groups = choose_groups(evaluation, rows)
    found = [
        _count_classes(target[:, task], prediction[:, task], len(classes), groups)
        for task, classes in enumerate(record.target_classes)
        if classes
    ]
    whole, answered, right = (np.concatenate(each, axis=-1) for each in zip(*found, strict=True))
    names = [
        f"{record.names[task]}: {record.target_classes[task][number]}" for task, number in list_task_classes(record)
    ]
    return PerClass(names, _add_groups(whole), _find_rates(whole, answered, right))


def _find_rates(whole: Totals, answered: Totals, right: Totals) -> dict[str, list[Figure]]:
    found = {
        "recall": rate_intervals(right, whole),
        "precision": rate_intervals(right, answered),
        "f1": f1_intervals(right, whole, answered),
    }
    return {name: [make_figure(each) for each in intervals] for name, intervals in found.items()}


def _add_groups(sums: Totals) -> list[int]:
    """Over all samples."""
    return [int(each) for each in (sums.sum(0) if sums.ndim > 1 else sums)]


def _measure_masks(evaluation: Evaluation, mask: Mask | None) -> PerClass:
    """Of whole images: the pixels of one are no independent samples."""
    record = evaluation.record
    if mask is None:
        support = evaluation.column("support").sum(0, dtype=np.int64).tolist()
        return PerClass(record.names, support, _of_all(record))
    groups = choose_groups(evaluation, mask)
    support, predicted, correct = (evaluation.column(name)[mask] for name in ("support", "predicted", "correct"))
    if groups is not None:
        support, predicted, correct = (sum_columns(each, groups) for each in (support, predicted, correct))
    ious = ratio_intervals(correct, support + predicted - correct)
    figures = {
        "iou": [make_figure(each) for each in ious],
        "dice": [make_figure(Interval(*map(turn_into_f1, each))) for each in ious],
    }
    return PerClass(record.names, support.sum(0, dtype=np.int64).tolist(), figures)


def _measure_values(evaluation: Evaluation, mask: Mask) -> dict[str, list[Figure]]:
    if evaluation.record.target != "values" or not mask.any():
        return {}
    errors = evaluation.column("prediction")[mask].astype(np.float64) - evaluation.column("target")[mask]
    groups = choose_groups(evaluation, mask)
    counts = sum_columns(np.ones(errors.shape), groups)
    means = {
        name: mean_intervals(sum_columns(terms, groups), counts, sum_columns(np.square(terms), groups))
        for name, terms in (("rmse", np.square(errors)), ("mae", np.abs(errors)))
    }
    roots = [Interval(*(math.sqrt(max(each, 0.0)) for each in one)) for one in means["rmse"]]
    figures = {"rmse": roots, "mae": means["mae"]}
    return {
        name: [make_figure(each) for each in figures[name]] for name in evaluation.record.per_class if name in figures
    }


def _of_all(record: EvaluationRecord) -> dict[str, list[Figure]]:
    return {name: [Figure(*each) for each in rows] for name, rows in record.per_class.items()}


def list_left_out(record: EvaluationRecord, measured: PerClass) -> list[str]:
    """The metrics that are not measured of a selection: they take all samples, in their order."""
    return [name for name in record.per_class if name not in measured.figures]


def find_class(evaluation: Evaluation, *, number: int) -> Mask:
    """The samples of a class, with a label, or with pixels of a class."""
    match evaluation.record.target:
        case "class":
            return np.asarray(evaluation.column("target") == number)
        case "labels":
            return np.asarray(evaluation.column("target")[:, number] > 0)
        case "tasks":
            task, own = list_task_classes(evaluation.record)[number]
            return np.asarray(evaluation.column("target")[:, task] == own)
        case _:
            return np.asarray(evaluation.column("support")[:, number] > 0)


def _count(evaluation: Evaluation, mask: Mask | None) -> tuple[Totals, ...] | None:
    """How many are of each class, how many were taken for it, and how many rightly; None where no sample is of a class or has labels."""
    rows = slice(None) if mask is None else mask
    record, groups = evaluation.record, choose_groups(evaluation, rows)
    if record.target == "class" and evaluation.has("prediction"):
        target, prediction = evaluation.column("target")[rows], evaluation.column("prediction")[rows]
        return _count_classes(target, prediction, len(record.names), groups)
    if record.target == "labels":
        truth = evaluation.column("target")[rows] > 0
        answers = reach_threshold(evaluation.column("scores")[rows], record.threshold)
        return tuple(sum_columns(each, groups) for each in (truth, answers, truth & answers))
    return None


def _count_classes(target: Numbers, prediction: Numbers, classes: int, groups: Groups) -> tuple[Totals, ...]:
    """Of the samples that count."""
    told, right = np.where(target < 0, -1, prediction), np.where(target == prediction, target, -1)
    return tuple(count_cells(each, classes, groups) for each in (target, told, right))


def make_figure(interval: Interval) -> Figure:
    """Without what is no number."""
    return Figure(*(None if math.isnan(each) else each for each in interval))
