"""What a row of the table of samples tells, by what is learned."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.errors import format_number, format_percent
from training.metric_names import metric
from training.predictions.probabilities import reach_threshold
from training.predictions.reading import Evaluation
from training.system.plain_table import Cell

_MOST_VALUES = 4
"""Values to predict that have columns of their own."""


class SampleColumn(NamedTuple):
    """One column: its title, and what it says of the sample in a row of the evaluation. ``measure`` gives the figure behind the words,
    for other programs."""

    title: str
    describe: Callable[[int], str]
    measure: Callable[[int], Cell] | None = None

    def value(self, row: int) -> Cell:
        """What other programs are told."""
        return self.measure(row) if self.measure is not None else self.describe(row)


def _figure(title: str, measure: Callable[[int], float], show: Callable[[float], str] = format_number) -> SampleColumn:
    """A column of numbers; one that is not defined is "–"."""

    def describe(row: int) -> str:
        value = measure(row)
        return "–" if math.isnan(value) else show(value)

    return SampleColumn(title, describe, measure)


def describe_samples(evaluation: Evaluation, most_values: int = _MOST_VALUES) -> list[SampleColumn]:
    """The columns of the table: how a sample is called, what is true, what was answered (of so many values at most), what it cost."""
    names, loss = evaluation.names, evaluation.column("loss")
    return [
        SampleColumn("Sample", lambda row: str(names[row])),
        *_describe_answers(evaluation, most_values),
        *([_figure("Loss", lambda row: float(loss[row]))] if evaluation.record.has_losses else []),
    ]


def describe_answers(evaluation: Evaluation) -> Callable[[int], str]:
    """What stands below a sample's image: what is true, and what was answered where that is something else."""
    columns = {column.title: column for column in _describe_answers(evaluation)}
    if "True" not in columns:
        names = evaluation.names
        return lambda row: PurePosixPath(str(names[row])).name
    true, predicted = columns["True"], columns["Predicted"]

    def describe(row: int) -> str:
        words = true.describe(row), predicted.describe(row)
        return words[0] if words[0] == words[1] else " → ".join(words)

    return describe


def _describe_answers(evaluation: Evaluation, most_values: int = _MOST_VALUES) -> Iterator[SampleColumn]:
    match evaluation.record.target:
        case "class" if evaluation.has("prediction"):
            yield from _describe_classes(evaluation)
        case "labels":
            yield from _describe_labels(evaluation)
        case "values" | "tasks":
            yield from _describe_values(evaluation, most_values)
        case "mask":
            yield from _describe_masks(evaluation)


def _describe_classes(evaluation: Evaluation) -> Iterator[SampleColumn]:
    classes = evaluation.record.names
    target, prediction = evaluation.column("target"), evaluation.column("prediction")
    scores, log_sum = evaluation.column("scores"), evaluation.column("log_sum")
    yield SampleColumn("True", lambda row: classes[target[row]])
    yield SampleColumn("Predicted", lambda row: classes[prediction[row]])
    yield _figure("Probability", lambda row: float(np.exp(scores[row].max() - log_sum[row])), format_percent)


def _describe_labels(evaluation: Evaluation) -> Iterator[SampleColumn]:
    names, record = evaluation.record.names, evaluation.record
    target, scores = evaluation.column("target"), evaluation.column("scores")

    def join(on: NDArray[np.bool_]) -> str:
        return ", ".join(name for name, is_on in zip(names, on.tolist(), strict=True) if is_on) or "none"

    yield SampleColumn("True", lambda row: join(target[row] > 0))
    yield SampleColumn("Predicted", lambda row: join(reach_threshold(scores[row], record.threshold)))


def _describe_values(evaluation: Evaluation, most: int) -> Iterator[SampleColumn]:
    target, prediction = evaluation.column("target"), evaluation.column("prediction")
    record = evaluation.record

    def show(title: str, values: NDArray[np.float32], at: int, classes: tuple[str, ...]) -> SampleColumn:
        if classes:
            return SampleColumn(title, lambda row: classes[int(values[row, at])])
        return _figure(title, lambda row: float(values[row, at]))

    kinds = record.target_classes or ((),) * len(record.names)
    for at, classes in enumerate(kinds[:most]):
        which = f" {record.names[at]}" if len(record.names) > 1 else ""
        yield show(f"True{which}", target, at, classes)
        yield show(f"Predicted{which}", prediction, at, classes)


def _describe_masks(evaluation: Evaluation) -> Iterator[SampleColumn]:
    correct, support = evaluation.column("correct"), evaluation.column("support")

    def share(row: int) -> float:
        pixels = int(support[row].sum())
        return int(correct[row].sum()) / pixels if pixels else math.nan

    yield _figure(metric("pixel_accuracy").title, share, format_percent)
