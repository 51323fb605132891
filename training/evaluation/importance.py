"""Which columns of a table the answers hang on: permutation importance (Breiman, "Random forests", Machine Learning 2001)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.core.splits import pick_evenly
from training.data.prepared import Preparing
from training.data.source import throttle
from training.engine.prediction_log import explain_full_disk
from training.engine.session import Session
from training.errors import InputError, pluralize
from training.evaluation.evaluate import evaluate_checkpoint
from training.evaluation.given import open_given
from training.evaluation.opening import (
    GIVEN,
    ReportProgress,
    is_part,
    make_columns,
    open_session,
    verify_checkpoint,
)
from training.evaluation.scores import Rate, measure_columns
from training.facts import DataFacts
from training.metric_names import is_known, metric
from training.predictions import Evaluation
from training.predictions.importance import (
    REPETITIONS,
    ColumnImportance,
    Importance,
    read_importance,
    write_importance,
)
from training.predictions.record import keep_finite
from training.statistics.intervals import Metric, bootstrap_together
from training.statistics.metrics import mean
from training.statistics.shuffling import find_drop

MOST_SAMPLES = 10_000
_MOST_NUMBERS = 1 << 26
"""Of inputs in memory: a quarter of a gigabyte."""
_MOST_COLUMNS = 500


def measure_importance(
    checkpoint: Path,
    on: str = "validation",
    report_progress: ReportProgress = lambda text, fraction: None,
    again: bool = False,
    kept: Preparing | None = None,
) -> tuple[Evaluation, Importance]:
    """How much worse ``checkpoint`` answers when each column of the data in turn is shuffled among the samples; all else as in
    ``evaluate_checkpoint``, whose evaluation is made first where there is none, and in whose folder the result is kept.

    The values of a column, with all features that are derived from it, are shuffled among the samples (of lists among all items)
    ``REPETITIONS`` times, and what the metric loses over all of them is told. Its interval is that of the paired bootstrap over samples, or groups of
    them: each resample takes the answers with and without the column of the same samples. Raises InputError for data without columns.
    """
    evaluation = evaluate_checkpoint(checkpoint, on, report_progress, again, kept)
    known = read_importance(evaluation)
    if known is not None:
        return evaluation, known
    if evaluation.record.layout not in ("vector", "list") or evaluation.has("embedding"):
        raise InputError(
            "Which columns matter is measured for tables and ranked lists, by shuffling each column; this data has none."
        )
    measurable = verify_checkpoint(checkpoint)
    part, data = (on, kept) if is_part(on) else (GIVEN, open_given(measurable, Path(on), report_progress))
    session = open_session(measurable, part, report_progress, data)
    try:
        with session.seed_user_code(part), torch.inference_mode():
            found = _Shuffling(session, part, evaluation).measure(report_progress)
    finally:
        session.data.close()
    with explain_full_disk(evaluation.folder):
        write_importance(evaluation.folder, found)
    return evaluation, found


def group_features(facts: DataFacts, marks_gaps: bool) -> dict[str, list[int]]:
    """The columns of the file, each with the places of the features that are made of it. ``marks_gaps``: some say where there are gaps."""
    groups: dict[str, list[int]] = {}
    for place in range(facts.shape[-1]):
        derived = facts.derivation(place)
        name = facts.columns[place] if facts.columns else f"feature {place + 1}"
        marked = facts.marked_column(place) if marks_gaps else None
        groups.setdefault(derived.column if derived is not None else marked or name, []).append(place)
    return groups


class _Shuffling:
    """Of the samples of ``evaluation``, or as many as there is room for, evenly spaced."""

    def __init__(self, session: Session, part: str, evaluation: Evaluation) -> None:
        self._session = session
        self._evaluation = evaluation
        record, facts = evaluation.record, session.data.facts
        room = max(1, _MOST_NUMBERS // math.prod(facts.shape))
        self._places = pick_evenly(torch.arange(record.samples), min(MOST_SAMPLES, room))
        self._inputs, self._targets = self._read(part)
        self._columns = make_columns(session)
        self._groups = group_features(facts, getattr(session.config.dataset, "missing_indicator", False))
        if len(self._groups) > _MOST_COLUMNS:
            raise InputError(
                f"This data has {len(self._groups):,} columns; which of them matter is measured for at most {_MOST_COLUMNS}."
            )
        self._name = self._choose_metric()

    def _read(self, part: str) -> tuple[Tensor, Tensor]:
        """The inputs, normalized, and the targets of the chosen samples, on the device."""
        inputs, targets, start = [], [], 0
        for batch in self._session.data.evaluation_batches(part):
            end = start + len(batch.targets)
            here = self._places[(self._places >= start) & (self._places < end)] - start
            inputs.append(batch.inputs[here.to(batch.inputs.device)])
            targets.append(batch.targets[here.to(batch.targets.device)])
            start = end
        return torch.cat(inputs), torch.cat(targets)

    def _choose_metric(self) -> str:
        """The first of the objective, as far as the columns tell it."""
        first = next(iter(self._session.objective.metrics), "loss")
        return first if is_known(first) and first in self._score(self._ask(self._inputs)) else "loss"

    def measure(self, report_progress: ReportProgress) -> Importance:
        record, samples = self._evaluation.record, len(self._places)
        plain = self._take(self._inputs)
        tell, work = throttle(report_progress), len(self._groups) * REPETITIONS
        drops: dict[str, Metric] = {}
        for number, (name, features) in enumerate(self._groups.items()):
            shuffled, orders = [], []
            for repetition, (inputs, order) in enumerate(self._shuffle(number, features)):
                done = number * REPETITIONS + repetition
                tell(f"shuffling {name}, {number + 1:,} of {pluralize(len(self._groups), 'column')}", done / work)
                shuffled.append(self._take(inputs))
                orders.append(order)
            drops[name] = find_drop(plain, shuffled, orders, self._rises, self._owners)
        report_progress("computing intervals", None)
        groups = self._evaluation.column("group")[self._places.numpy()] if self._evaluation.has("group") else None
        intervals = bootstrap_together(drops, groups, record.seed)
        columns = [
            ColumnImportance(
                name=name, drop=keep_finite(one.value), low=keep_finite(one.low), high=keep_finite(one.high)
            )
            for name, (one,) in intervals.items()
        ]
        columns.sort(key=lambda column: -math.inf if column.drop is None else column.drop, reverse=True)
        return Importance(
            metric=self._name,
            value=keep_finite(plain.value),
            samples=samples,
            seed=record.seed,
            manifest_sha256=record.manifest_sha256,
            fingerprint=record.fingerprint,
            columns=tuple(columns),
        )

    @property
    def _owners(self) -> NDArray[np.int64] | None:
        """Of lists, the query of each item that is there."""
        if self._inputs.ndim < 3:
            return None
        return (~self._targets.isnan()).nonzero()[:, 0].cpu().numpy()

    @property
    def _rises(self) -> bool:
        """Whether a higher number is a better one."""
        return metric(self._name).maximize

    def _shuffle(self, number: int, features: list[int]) -> Iterator[tuple[Tensor, NDArray[np.int64]]]:
        """The inputs with the values of the ``features`` of column ``number`` given to other samples; of lists to other items. And
        from which sample, or item, each has them."""
        inputs, there = self._inputs, None
        if inputs.ndim == 3:  # lists: places without an item stay as they are
            there = ~self._targets.isnan()
        rows = inputs if there is None else inputs[there]
        for repetition in range(REPETITIONS):
            random = np.random.Generator(np.random.PCG64([self._evaluation.record.seed, number, repetition]))
            order = random.permutation(len(rows))
            made = rows.clone()
            made[:, features] = rows[torch.from_numpy(order).to(rows.device)][:, features]
            if there is None:
                yield made, order
                continue
            whole = inputs.clone()
            whole[there] = made
            yield whole, order

    def _ask(self, inputs: Tensor) -> dict[str, NDArray[Any]]:
        """The columns of an evaluation, of what the network answers."""
        session, found = self._session, []
        session.answer.eval()
        size = session.data.evaluation_size
        for some, targets in zip(inputs.split(size), self._targets.split(size), strict=True):
            with session.numerics.autocast():
                outputs = session.answer(some)
            found.append(self._columns.take(outputs, targets))
        return {name: torch.cat([each[name] for each in found]).cpu().numpy() for name in found[0]}

    def _score(self, columns: Mapping[str, NDArray[Any]]) -> dict[str, Rate | Metric]:
        top = int(getattr(self._session.config.objective, "top", 1))
        return measure_columns(self._evaluation.record, columns, top).whole

    def _take(self, inputs: Tensor) -> Metric:
        """The chosen metric of the answers, as a function of how often each sample counts."""
        columns = self._ask(inputs)
        if self._name == "loss":
            return mean(columns["loss"])
        score = self._score(columns)[self._name]
        return score.metric if isinstance(score, Rate) else score
