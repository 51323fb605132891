"""How well each class, label or value is told: of all samples as the evaluation measured it, of a selection counted once more."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from studio.state.formats import format_metric
from training.predictions import Evaluation
from training.predictions.confusions import count_confusions
from training.predictions.probabilities import reach_threshold
from training.statistics.intervals import f1_of, wilson

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


class PerClass(NamedTuple):
    """``support`` counts samples (pixels, of masks) of each name, () where they have no classes; ``figures`` has one for each name by
    the metric's name."""

    names: Sequence[str]
    support: Sequence[int]
    figures: Mapping[str, Sequence[Figure]]


def measure_classes(evaluation: Evaluation, mask: Mask | None) -> PerClass:
    """Of the samples in ``mask``, (n,), or of all. Of a selection there are only metrics that are counted at once: precision,
    recall and F1, of masks IoU and Dice."""
    record = evaluation.record
    counts = _count(evaluation, mask)
    support = () if counts is None else counts[0].tolist()
    if mask is None:
        return PerClass(
            record.names, support, {name: [Figure(*each) for each in rows] for name, rows in record.per_class.items()}
        )
    if counts is None:
        return PerClass(record.names, support, {})
    whole, answered, right = (each.tolist() for each in counts)
    overlaps = [_f1(*each) for each in zip(whole, answered, right, strict=True)]
    if record.target == "mask":
        figures = {"iou": [_iou(*each) for each in zip(whole, answered, right, strict=True)], "dice": overlaps}
    else:
        figures = {
            "recall": [_rate(*each) for each in zip(right, whole, strict=True)],
            "precision": [_rate(*each) for each in zip(right, answered, strict=True)],
            "f1": overlaps,
        }
    known = [name for name in record.per_class if name in figures] or list(figures)
    return PerClass(record.names, support, {name: figures[name] for name in known})


def find_class(evaluation: Evaluation, *, number: int) -> Mask:
    """The samples of a class, with a label, or with pixels of a class."""
    match evaluation.record.target:
        case "class":
            return np.asarray(evaluation.column("target") == number)
        case "labels":
            return np.asarray(evaluation.column("target")[:, number] > 0)
        case _:
            return np.asarray(evaluation.column("support")[:, number] > 0)


def _count(evaluation: Evaluation, mask: Mask | None) -> tuple[NDArray[np.int64], ...] | None:
    """How many are of each class, how many were taken for it, and how many rightly; None where there are no classes."""
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
    if record.target == "mask":
        return tuple(
            evaluation.column(name)[rows].sum(0, dtype=np.int64) for name in ("support", "predicted", "correct")
        )
    return None


def _rate(successes: int, count: int) -> Figure:
    return Figure(*wilson(successes, count)) if count else Figure(None)


def _f1(whole: int, answered: int, right: int) -> Figure:
    return Figure(*f1_of(right, whole, answered)) if whole + answered else Figure(None)


def _iou(whole: int, answered: int, right: int) -> Figure:
    union = whole + answered - right
    return Figure(right / union) if union else Figure(None)
