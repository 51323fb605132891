"""Whether one checkpoint is better than another, by what both answered to the same samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from training.errors import InputError, pluralize
from training.evaluation.scores import Rate, measure_columns
from training.evaluation.summary import MappedColumns
from training.metric_names import is_known, is_share, metric
from training.predictions import Evaluation
from training.predictions.pairing import find_keys, pairs_by_content
from training.runs.folder import RunFolder
from training.statistics.intervals import Metric
from training.statistics.metrics import mean
from training.statistics.paired import Comparison, compare, describe_difference, mcnemar


@dataclass(frozen=True)
class Difference:
    """What ``second`` scores more than ``first`` in ``metric``; ``sentence`` says it."""

    metric: str
    first: str
    second: str
    values: tuple[float, float]
    comparison: Comparison
    sentence: str


@dataclass(frozen=True)
class Compared:
    """``samples`` are those that both answered to; ``notes`` are what there is to say."""

    samples: int
    differences: tuple[Difference, ...]
    notes: tuple[str, ...] = ()


def compare_evaluations(first: Evaluation, second: Evaluation, called: tuple[str, str] = ("A", "B")) -> Compared:
    """By the paired bootstrap of the samples in both, metric by metric; accuracies by McNemar's exact test, too. Raises InputError where
    they are of other data, classes or targets."""
    by_content = _refuse_others(first, second)
    keys, others = find_keys(first, by_content), find_keys(second, by_content)
    common, *places = np.intersect1d(keys, others, return_indices=True)
    if not len(common):
        raise InputError(f"{called[0]} and {called[1]} have no sample in common.", "Compare them on the same part.")
    both = [_Chosen(evaluation, rows) for evaluation, rows in zip((first, second), places, strict=True)]
    if not np.array_equal(both[0]["target"], both[1]["target"], equal_nan=True):
        raise InputError(
            f"{called[0]} and {called[1]} have other targets for the same samples.", "Evaluate both again."
        )
    scores = [_find_scores(evaluation, columns) for evaluation, columns in zip((first, second), both, strict=True)]
    notes = []
    if first.folder.resolve() == second.folder.resolve():
        notes.append("Both are the same checkpoint.")
    if len(common) < max(first.record.samples, second.record.samples):
        notes.append(f"Compared on the {pluralize(len(common), 'sample')} that both have; the parts differ.")
    groups = both[0]["group"] if first.has("group") else None
    differences = tuple(_compare_metrics(scores, called, groups, first.record.seed))
    if not differences:
        tasks = " and ".join(dict.fromkeys((first.record.task, second.record.task)))
        notes.append(f"They have no metric in common ({tasks}); compare runs of the same task.")
    return Compared(len(common), differences, tuple(notes))


class _Chosen(MappedColumns):
    """Some of an evaluation's rows."""

    def __init__(self, evaluation: Evaluation, rows: NDArray[np.intp]) -> None:
        super().__init__(evaluation)
        self._rows = rows

    def __missing__(self, name: str) -> NDArray[np.generic]:
        self[name] = np.asarray(self._evaluation.column(name))[self._rows]
        return self[name]


def _refuse_others(first: Evaluation, second: Evaluation) -> bool:
    """Returns whether samples are found by their content."""
    one, other = first.record, second.record
    by_content = pairs_by_content(first, second)
    if by_content is None:
        raise InputError(
            f"{one.run} and {other.run} were evaluated on different data, so nothing can be compared.",
            "Compare runs on the same data, or give its path with --on.",
        )
    if (one.target, one.names) != (other.target, other.names):
        raise InputError(
            f"{one.run} and {other.run} answer other questions: the one predicts {one.target} of {', '.join(one.names[:5])}, the other "
            f"{other.target} of {', '.join(other.names[:5])}.",
            "Compare runs of the same task.",
        )
    return by_content


Kind = tuple[str, str]
"""A metric's name, and what else has to be the same, so that two numbers can be compared."""
_OF_PLACES = ("ndcg", "recall_at_k")


def _find_scores(evaluation: Evaluation, columns: MappedColumns) -> dict[Kind, Rate | Metric]:
    """Those that the evaluation has an interval for."""
    config = RunFolder(evaluation.folder.parent.parent).readable_config()
    top = int(getattr(config.objective, "top", 1)) if config is not None else 1
    found = measure_columns(evaluation.record, columns, top).whole
    scores = {
        (name, str(top) if name in _OF_PLACES else ""): found[name]
        for name, measured in evaluation.record.metrics.items()
        if name in found and measured.low is not None
    }
    if config is not None and np.isfinite(columns["loss"]).all() and evaluation.record.metrics.get("loss") is not None:
        scores["loss", repr(config.objective)] = mean(columns["loss"].astype(np.float64))
    return scores


def _compare_metrics(
    scores: Sequence[dict[Kind, Rate | Metric]], called: tuple[str, str], groups: NDArray[np.generic] | None, seed: int
) -> Iterator[Difference]:
    first, second = scores
    units = None if groups is None else groups.astype(np.int64)
    count, unit = (0, "samples") if units is None else (len(np.unique(units)), "groups")
    for key in [key for key in first if key in second]:
        name, pair = key[0], (first[key], second[key])
        chance = None
        if (
            isinstance(pair[0], Rate)
            and isinstance(pair[1], Rate)
            and pair[0].counted.all()
            and pair[1].counted.all()
            and units is None
        ):
            chance = mcnemar(pair[0].right, pair[1].right)
        one, other = (each.metric if isinstance(each, Rate) else each for each in pair)
        comparison = compare(one, other, units, seed, chance=chance)
        lower = is_known(name) and not metric(name).maximize
        sentence = describe_difference(
            comparison, count or one.samples, *called, lower_is_better=lower, points=is_share(name), unit=unit
        )
        yield Difference(name, *called, (one.value, other.value), comparison, sentence)
