"""What an evaluation amounts to: each metric with its interval, and beside it what the simplest predictors reach."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from training.config.sections.objective import Objective as ObjectiveConfig
from training.config.sections.objective_section import ObjectiveSection
from training.data.batching.batches import Data
from training.engine.session import Session
from training.errors import pluralize
from training.evaluation.baselines import Predictor, answer_by_bigrams, answer_trivially
from training.evaluation.linear import answer_linearly
from training.evaluation.opening import GIVEN
from training.evaluation.scores import Columns, Rate, Rates, Scores, measure_columns
from training.evaluation.simple_loss import with_loss
from training.facts import DataFacts
from training.metric_names import is_known, metric, title_of
from training.objectives import Objective, make_objective
from training.predictions.reading import Evaluation
from training.predictions.record import Baseline, EvaluationRecord, Measured, keep_finite
from training.statistics.intervals import Interval, Metric, bootstrap_together, wilson
from training.statistics.metrics import mean

_TOLERANCE = 1e-3
"""How far the metric of the columns may lie from the run's own number, which is never replaced: some columns are rounded, and of a
weighted loss they do not tell all."""
Each = tuple[tuple[float | None, float | None, float | None], ...]


class Simple(NamedTuple):
    """What the simplest predictors answer. ``trivial``: what looks at no input, or at the token before alone; or why there is none, a
    clause. ``linear``: a regression, None where it is for nothing."""

    trivial: Predictor | str
    linear: Predictor | None = None


class Summary(NamedTuple):
    """What ``EvaluationWriter.finish`` takes."""

    metrics: dict[str, Measured]
    per_class: dict[str, Each]
    notes: tuple[str, ...]


class MappedColumns(dict[str, "NDArray[np.generic]"]):
    """Those of a record, mapped when they are asked for."""

    def __init__(self, evaluation: Evaluation) -> None:
        super().__init__()
        self._evaluation = evaluation

    def __missing__(self, name: str) -> NDArray[np.generic]:
        self[name] = self._evaluation.column(name)
        return self[name]

    def __contains__(self, name: object) -> bool:
        return name in self._evaluation.record.columns


def summarize(
    record: EvaluationRecord,
    folder: Path,
    session: Session,
    part: str,
    found: Mapping[str, float],
    pieces: Sequence[str] = (),
    trained: Data | None = None,
) -> Summary:
    """``found`` are the run's own metrics of the pass; its columns lie in ``folder``. ``trained`` as ``answer_simply``."""
    columns: Columns = MappedColumns(Evaluation(folder, record))
    config = session.config.objective
    simple = answer_simply(record, session.data, part, columns, trained)
    simple = with_losses(simple, record, config, session.data.facts, columns)
    summary = measure_intervals(record, columns, config, found, simple)
    usual = _find_usual(tuple(session.objective.metrics))
    notes = [*pieces, *(note for name in usual for note in _compare(name, summary.metrics, record.samples))]
    if session.objective.compares_samples:
        notes.append("The loss compares samples with each other, so none has a loss of its own.")
    return summary._replace(notes=tuple(notes))


def answer_simply(
    record: EvaluationRecord, data: Data, part: str, columns: Columns, trained: Data | None = None
) -> Simple:
    """For a part of the data. ``trained``: what the network was trained on, where that is other data than ``data``."""
    if part != GIVEN:
        trained = data
    if record.target == "tokens":
        trivial = answer_by_bigrams(trained, data, part, columns)
    else:
        trivial = answer_trivially(record, data.facts, columns)
    return Simple(trivial, answer_linearly(trained, data, part, columns) if trained is not None else None)


def with_losses(
    simple: Simple, record: EvaluationRecord, config: ObjectiveConfig, facts: DataFacts, columns: Columns
) -> Simple:
    """The predictors with what the loss of ``config`` makes of them."""

    def measure(predictor: Predictor) -> Predictor:
        return with_loss(predictor, record, config, make, columns)

    def make() -> Objective:
        return make_objective(config, facts, torch.device("cpu"))

    trivial, linear = simple
    return Simple(
        trivial if isinstance(trivial, str) else measure(trivial), measure(linear) if linear is not None else None
    )


def measure_intervals(
    record: EvaluationRecord,
    columns: Columns,
    objective: ObjectiveSection,
    found: Mapping[str, float],
    simple: Simple | None = None,
) -> Summary:
    """The metrics ``found``, each with its interval and with what ``simple`` predictors reach, and those of each class."""
    top = int(getattr(objective, "top", 1))
    scores = measure_columns(record, columns, top)
    groups = np.unique(columns["group"], return_inverse=True)[1] if "group" in record.columns else None
    intervals = _find_intervals(scores, columns, groups, record)
    agreed = found.get(_AGREEMENT, math.nan)
    if groups is None and math.isfinite(agreed):  # what the teacher said is in no column
        intervals[_AGREEMENT] = [wilson(round(agreed * record.samples), record.samples)]
    baseline, linear = (_measure_baseline(each, record, top) for each in simple or ("", None))
    whole = {name: _agree(value, intervals.get(name)) for name, value in found.items()}
    extra = {name: each[0] for name, each in intervals.items() if name == CALIBRATION}
    metrics = {
        name: Measured(
            value=keep_finite(interval.value),
            low=keep_finite(interval.low),
            high=keep_finite(interval.high),
            baseline=None if name == CALIBRATION else baseline.get(name),
            linear=linear.get(name),
            lacks=tuple(_list_lacking(name, interval, scores, baseline, simple)),
        )
        for name, interval in {**whole, **extra}.items()
    }
    per_class = {
        name.removeprefix(_EACH): tuple(
            (keep_finite(one.value), keep_finite(one.low), keep_finite(one.high)) for one in several
        )
        for name, several in intervals.items()
        if name.startswith(_EACH)
    }
    return Summary(metrics, per_class, ())


_AGREEMENT = "agreement"
_UNKEPT = "what the teacher answered to each sample is not kept"
_EACH = "each "
CALIBRATION = "calibration_error"
"""Measured of classes beside the run's own metrics."""


def _find_intervals(
    scores: Scores, columns: Columns, groups: NDArray[np.intp] | None, record: EvaluationRecord
) -> dict[str, list[Interval]]:
    """Of all samples by the metric's name, of each class behind ``_EACH``."""
    found: dict[str, list[Interval]] = {}
    drawn: dict[str, Metric] = {}
    rates: dict[str, list[Interval]] = {}

    def choose(samples: int) -> NDArray[np.intp] | None:
        """The groups of those that count: the others have no target."""
        if groups is None or samples == len(groups):
            return groups
        return groups[np.asarray(columns["target"]) >= 0]

    named = scores.whole | {_EACH + name: several for name, several in scores.each.items()}
    for name, score in named.items():
        if not isinstance(score, Rate | Rates):
            drawn[name] = score
        elif groups is None:
            rates[name] = score.limit(None)
        else:
            drawn[name] = score.metric
            rates[name] = score.limit(choose(drawn[name].samples))
    losses = np.asarray(columns["loss"])
    if np.isfinite(losses).any():
        drawn["loss"] = mean(losses)
    for samples in {each.samples for each in drawn.values()}:
        same = {name: each for name, each in drawn.items() if each.samples == samples}
        found |= bootstrap_together(same, choose(samples), record.seed)
    return found | {name: [*map(_widen, each, found.get(name, each))] for name, each in rates.items()}


def _widen(rate: Interval, of_groups: Interval) -> Interval:
    """The wider of the two intervals: where all groups are right, their resamples are all the same."""
    if math.isnan(of_groups.low):
        return rate
    return Interval(rate.value, min(rate.low, of_groups.low), max(rate.high, of_groups.high))


def _agree(value: float, several: Sequence[Interval] | None) -> Interval:
    """The run's own ``value`` with the limits that were found for it."""
    if not several or not math.isfinite(value):
        return Interval(value, math.nan, math.nan)
    interval = several[0]
    if not abs(interval.value - value) <= _TOLERANCE * max(abs(value), 0.1):
        return Interval(value, math.nan, math.nan)
    return Interval(value, min(interval.low, value), max(interval.high, value))


def _measure_baseline(answered: Predictor | str | None, record: EvaluationRecord, top: int) -> dict[str, Baseline]:
    if answered is None or isinstance(answered, str):
        return {}
    values = {metric: score.value for metric, score in measure_columns(record, answered.columns, top).whole.items()}
    found = {
        name: Baseline(name=answered.name_for(name), value=value)
        for name, value in values.items()
        if math.isfinite(value)
    }
    if answered.loss is not None and math.isfinite(answered.loss):
        found["loss"] = Baseline(name=answered.loss_name, value=answered.loss)
    return found


def _list_lacking(
    name: str, interval: Interval, scores: Scores, baseline: Mapping[str, Baseline], simple: Simple | None
) -> Iterable[str]:
    """What is not told of a metric, and why."""
    if math.isnan(interval.low) and name in (*scores.lacking, _AGREEMENT):
        yield f"no interval: {scores.lacking.get(name, _UNKEPT)}"
    if simple is None or (name in baseline and name != CALIBRATION):
        return
    if why := _explain_none(name, scores, simple.trivial):
        yield f"no baseline: {why}"


def _explain_none(name: str, scores: Scores, trivial: Predictor | str) -> str:
    if name == CALIBRATION:
        return "what looks at no input is calibrated by itself"
    if name == _AGREEMENT:
        return _UNKEPT
    if isinstance(trivial, str):
        return trivial
    if name == "loss" and trivial.lossless:
        return trivial.lossless
    return scores.lacking.get(name, f"it is not defined of the {trivial.name_for(name)}")


def _find_usual(names: Sequence[str]) -> list[str]:
    """The metric that comes first; of several targets, whose metrics are called TARGET/METRIC, that of each."""
    first = {name.rpartition("/")[0]: name for name in reversed(names)}
    return [*reversed(first.values())] or ["loss"]


def _compare(name: str, metrics: Mapping[str, Measured], samples: int) -> Iterable[str]:
    """What is said where the model is no better than a simple predictor in its usual metric."""
    measured, known = metrics.get(name), is_known(name)
    if measured is None or measured.value is None or not known:
        return
    told, title, sign = metric(name), title_of(name), 1.0 if metric(name).maximize else -1.0
    limit = measured.low if sign > 0 else measured.high
    for article, simple in (("the ", measured.baseline), ("a ", measured.linear)):
        if simple is None:
            continue
        what = simple.name if simple.name.startswith("any") else f"{article}{simple.name}"
        shown = f"{title} {told.show(measured.value)} against {told.show(simple.value)}"
        if sign * measured.value <= sign * simple.value:
            yield f"The model does not beat {what}: {shown}."
        elif limit is not None and sign * limit <= sign * simple.value:
            yield f"These {pluralize(samples, 'sample')} do not show that the model beats {what}: {shown}."
