"""How well each class, label or value is told: of all samples as the evaluation measured it, of a selection counted once more."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from studio.state.formats import format_metric
from training.predictions import Evaluation, EvaluationRecord
from training.predictions.confusions import Counts, count_confusions
from training.predictions.probabilities import reach_threshold
from training.statistics.intervals import Interval, f1_of, mean_interval, ratio_intervals, turn_into_f1, wilson

Mask = NDArray[np.bool_]


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


def warn_of_groups(record: EvaluationRecord) -> str:
    """What has to be known of intervals that are counted at once, of data with groups; "" of other data."""
    if "group" not in record.columns:
        return ""
    return "These intervals take the samples of a group for independent ones, and are narrower than they should be."


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
    support = () if counts is None else counts[0].tolist()
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
    found = [
        count_confusions(target[:, task], prediction[:, task], len(classes))
        for task, classes in enumerate(record.target_classes)
        if classes
    ]
    whole, answered, right = (
        np.concatenate([count(cells) for cells in found])
        for count in (lambda cells: cells.sum(1), lambda cells: cells.sum(0), np.diagonal)
    )
    names = [
        f"{record.names[task]}: {record.target_classes[task][number]}" for task, number in list_task_classes(record)
    ]
    return PerClass(names, whole.tolist(), _find_rates(whole, answered, right))


def _find_rates(whole: Counts, answered: Counts, right: Counts) -> dict[str, list[Figure]]:
    counts = whole.tolist(), answered.tolist(), right.tolist()
    return {
        "recall": [_rate(hits, count) for count, _, hits in zip(*counts, strict=True)],
        "precision": [_rate(hits, count) for _, count, hits in zip(*counts, strict=True)],
        "f1": [_f1(*each) for each in zip(*counts, strict=True)],
    }


def _measure_masks(evaluation: Evaluation, mask: Mask | None) -> PerClass:
    """Of whole images: the pixels of one are no independent samples."""
    record = evaluation.record
    if mask is None:
        support = evaluation.column("support").sum(0, dtype=np.int64).tolist()
        return PerClass(record.names, support, _of_all(record))
    support, predicted, correct = (evaluation.column(name)[mask] for name in ("support", "predicted", "correct"))
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
    squares, sizes = np.square(errors), np.abs(errors)
    means = {
        name: [mean_interval(len(errors), float(each.sum()), float(np.square(each).sum())) for each in terms.T]
        for name, terms in (("rmse", squares), ("mae", sizes))
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


def _count(evaluation: Evaluation, mask: Mask | None) -> tuple[NDArray[np.int64], ...] | None:
    """How many are of each class, how many were taken for it, and how many rightly; None where no sample is of a class or has labels."""
    rows = slice(None) if mask is None else mask
    record = evaluation.record
    if record.target == "class" and evaluation.has("prediction"):
        target, prediction = evaluation.column("target"), evaluation.column("prediction")
        cells = count_confusions(target, prediction, len(record.names), mask)
        return cells.sum(1), cells.sum(0), np.diagonal(cells)
    if record.target == "labels":
        truth = evaluation.column("target")[rows] > 0
        answers = reach_threshold(evaluation.column("scores")[rows], record.threshold)
        return truth.sum(0), answers.sum(0), (truth & answers).sum(0)
    return None


def _rate(successes: int, count: int) -> Figure:
    return Figure(*wilson(successes, count)) if count else Figure(None)


def _f1(whole: int, answered: int, right: int) -> Figure:
    return Figure(*f1_of(right, whole, answered)) if whole + answered else Figure(None)


def make_figure(interval: Interval) -> Figure:
    """Without what is no number."""
    return Figure(*(None if math.isnan(each) else each for each in interval))
