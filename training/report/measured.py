"""What an evaluation found, as tables: metrics with intervals, classes, mistakes, and the samples that cost the most."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from training.metric_names import show_metric, title_of
from training.predictions.confusions import count_confusions, find_mistakes
from training.predictions.reading import Evaluation
from training.predictions.record import Baseline, Measured
from training.predictions.sample_columns import describe_samples
from training.system.untrusted import escape_unprintable

WORST = 24
"""Samples that are shown at most, those of the greatest losses: of few samples a quarter."""
_MOST_CLASSES = 60
_LARGEST_MATRIX = 20
_MOST_COUNTED = 2000  # classes whose mistakes are counted
_MOST_MISTAKES = 20
_SIDE = 96  # pixels of a thumbnail
_MOST_BYTES = 8_000  # of a thumbnail
_LONGEST = 80  # letters of a name

ReadImages = Callable[[Evaluation, Sequence[int]], Mapping[int, NDArray[np.uint8]]]
"""Gives the images (H, W, channels) of some rows of an evaluation, those that there still are."""


class MetricRow(NamedTuple):
    """A metric, its interval, and what the simplest predictors reach, as a person reads them."""

    title: str
    value: str
    interval: str
    baseline: str


class WorstSample(NamedTuple):
    """``image`` is a data URI, "" of what is no image; ``cells`` say what is true and what was answered."""

    cells: tuple[str, ...]
    image: str


@dataclass(frozen=True)
class EvaluationTables:
    """What the page shows of one evaluation. ``matrix`` has a row for each class: (count, share of the row) for each answer."""

    on: str
    step: int
    checkpoint: str
    samples: int
    metrics: tuple[MetricRow, ...]
    notes: tuple[str, ...]
    class_titles: tuple[str, ...]
    classes: tuple[tuple[str, ...], ...]
    class_note: str
    names: tuple[str, ...]
    matrix: tuple[tuple[tuple[int, float], ...], ...]
    mistakes: tuple[tuple[str, ...], ...]
    worst_titles: tuple[str, ...]
    worst: tuple[WorstSample, ...]
    judged: int
    """Samples of which those are the worst."""


def tabulate(evaluation: Evaluation, read_images: ReadImages | None = None) -> EvaluationTables:
    """Raises InputError for columns that are damaged or gone."""
    record = evaluation.record
    titles, classes, note = _tabulate_classes(evaluation)
    counts = _count(evaluation)
    matrix, mistakes = _tabulate_mistakes(evaluation, counts)
    worst_titles, worst, judged = _find_worst(evaluation, read_images)
    return EvaluationTables(
        on=shorten(record.on, 300),
        step=record.step,
        checkpoint=shorten(record.checkpoint),
        samples=record.samples,
        metrics=tuple(describe_metrics(record.metrics)),
        notes=tuple(shorten(each, 500) for each in record.notes),
        class_titles=titles,
        classes=classes,
        class_note=note,
        names=tuple(map(shorten, record.names)) if matrix else (),
        matrix=matrix,
        mistakes=mistakes,
        worst_titles=worst_titles,
        worst=worst,
        judged=judged,
    )


def describe_metrics(metrics: Mapping[str, Measured]) -> Iterator[MetricRow]:
    """In the order of the evaluation."""
    for name, measured in metrics.items():
        simple = "; ".join(_describe_simple(name, each) for each in (measured.baseline, measured.linear) if each)
        yield MetricRow(shorten(title_of(name)), show_metric(name, measured.value), _interval(name, measured), simple)


def title_metric(name: str) -> str:
    """ "val/accuracy" as "Validation accuracy"."""
    part, _, plain = name.partition("/")
    where = {"val": "Validation", "train": "Training", "test": "Test"}.get(part)
    title = title_of(plain) if where and plain else title_of(name)
    return shorten(f"{where}: {title}" if where and plain else title)


def _describe_simple(name: str, simple: Baseline) -> str:
    return f"{shorten(simple.name)} {show_metric(name, simple.value)}"


def _interval(name: str, measured: Measured) -> str:
    if measured.low is None or measured.high is None:
        return ""
    return f"{show_metric(name, measured.low)} to {show_metric(name, measured.high)}"


def shorten(text: str, most: int = _LONGEST) -> str:
    """A text that others wrote, in one line."""
    return escape_unprintable(text, most)


def _tabulate_classes(evaluation: Evaluation) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...], str]:
    record = evaluation.record
    if not record.per_class or len(record.names) < 2:
        return (), (), ""
    chosen, note = list(range(len(record.names))), ""
    first = next(iter(record.per_class.values()))
    if len(chosen) > _MOST_CLASSES:
        values = np.array([math.inf if each[0] is None else each[0] for each in first])
        chosen = np.argsort(values, kind="stable")[:_MOST_CLASSES].tolist()
        note = f"The {_MOST_CLASSES} of {len(record.names):,} names with the lowest {title_of(next(iter(record.per_class)))}."
    support = _support(evaluation)
    rows = []
    for at in chosen:
        cells = [shorten(record.names[at])]
        if support is not None:
            cells.append(f"{support[at]:,}")
        for name, figures in record.per_class.items():
            value, low, high = figures[at]
            limits = "" if low is None or high is None else f" ({show_metric(name, low)} to {show_metric(name, high)})"
            cells.append("–" if value is None else f"{show_metric(name, value)}{limits}")
        rows.append(tuple(cells))
    return (
        ("Class", *(("Samples",) if support is not None else ()), *map(title_of, record.per_class)),
        tuple(rows),
        note,
    )


def _support(evaluation: Evaluation) -> NDArray[np.int64] | None:
    if evaluation.record.target != "class":
        return None
    target = np.asarray(evaluation.column("target"))
    return np.bincount(target[target >= 0], minlength=len(evaluation.record.names))


def _count(evaluation: Evaluation) -> NDArray[np.int64] | None:
    classes = len(evaluation.record.names)
    if evaluation.record.target != "class" or not evaluation.has("prediction") or classes > _MOST_COUNTED:
        return None
    target, prediction = np.asarray(evaluation.column("target")), np.asarray(evaluation.column("prediction"))
    return count_confusions(target, prediction, classes, target >= 0)


def _tabulate_mistakes(
    evaluation: Evaluation, counts: NDArray[np.int64] | None
) -> tuple[tuple[tuple[tuple[int, float], ...], ...], tuple[tuple[str, ...], ...]]:
    """The matrix of few classes, and the mistakes made most often."""
    if counts is None:
        return (), ()
    names = evaluation.record.names
    matrix: tuple[tuple[tuple[int, float], ...], ...] = ()
    if len(names) <= _LARGEST_MATRIX:
        shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
        matrix = tuple(
            tuple(zip(row.tolist(), map(float, share), strict=True)) for row, share in zip(counts, shares, strict=True)
        )
    found = find_mistakes(counts, _MOST_MISTAKES if not matrix else 5)
    return matrix, tuple(
        (shorten(names[each.true]), shorten(names[each.predicted]), f"{each.samples:,}", f"{each.share:.1%}")
        for each in found
    )


def _find_worst(
    evaluation: Evaluation, read_images: ReadImages | None
) -> tuple[tuple[str, ...], tuple[WorstSample, ...], int]:
    losses = np.asarray(evaluation.column("loss"), dtype=np.float64)
    finite = np.flatnonzero(np.isfinite(losses))
    most = min(WORST, math.ceil(len(finite) / 4))
    rows = finite[np.argsort(-losses[finite], kind="stable")[:most]].tolist()
    if not rows:
        return (), (), 0
    columns = describe_samples(evaluation)
    images = read_images(evaluation, rows) if read_images is not None and evaluation.record.layout == "image" else {}
    samples = tuple(
        WorstSample(
            tuple(shorten(column.describe(row)) for column in columns),
            encode_thumbnail(images[row]) if row in images else "",
        )
        for row in rows
    )
    return tuple(column.title for column in columns), samples, len(finite)


def encode_thumbnail(pixels: NDArray[np.uint8]) -> str:
    """An image (H, W, 1 or 3) as a data URI of a WebP that is small in every way; "" of other channels."""
    if pixels.ndim != 3 or pixels.shape[2] not in (1, 3):
        return ""
    image = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    if max(image.size) < _SIDE // 2:  # a browser would blur it
        factor = _SIDE // max(image.size)
        image = image.resize((image.width * factor, image.height * factor), Image.Resampling.NEAREST)
    image.thumbnail((_SIDE, _SIDE))
    for quality in (80, 50, 20):
        stream = io.BytesIO()
        image.save(stream, "WEBP", quality=quality)
        if stream.tell() <= _MOST_BYTES:
            break
    return f"data:image/webp;base64,{base64.b64encode(stream.getvalue()).decode()}"
