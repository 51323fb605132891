"""All metrics of a task at once, and what is measured beside single numbers: a number for each class, which class was taken
for which."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import torch
from torch import Tensor

from training.core.kept_scores import auroc, average_precision, keep_probabilities
from training.core.losses import split_answers
from training.core.scores import Metric, add_up

Table: TypeAlias = "float | list[Table] | None"
Tables = dict[str, Table]
"""Numbers in lists, or lists of lists, by name; small, as JSON can hold them."""
MOST_SHOWN = 100
"""Classes up to which the whole confusion matrix is kept for people: 10,000 numbers."""


class MetricSet:
    """Metrics and tables, by name, in the form of one metric: what several of them measure, prepare or score is so but once."""

    def __init__(self, metrics: Mapping[str, Metric], tables: Mapping[str, Metric]) -> None:
        self._metrics, self._tables = metrics, tables
        each = (*metrics.values(), *tables.values())
        self._measures = {id(metric.measure): metric.measure for metric in each}
        self.metric = Metric(self._measure, self._score, list)  # type: ignore[arg-type]  # of tuples, not of tensors
        self._summed = {id(metric.measure) for metric in each if metric.gather is add_up}
        self._sums: dict[tuple[int, int], Tensor] = {}
        self._found: dict[str, float] = {}
        self.tables: Tables = {}
        """Once ``metric`` was computed."""

    def results(self, loss: float, score: float) -> dict[str, float]:
        """The loss and each metric by its name, from what ``evaluate`` returned of ``metric``."""
        return {"loss": loss} | (dict.fromkeys(self._found, math.nan) if math.isnan(score) else self._found)

    def take_sums(self) -> list[tuple[int, int, Tensor]]:
        """What was added up so far: of which measure, its place there, and the tensor that goes on growing."""
        order = {key: number for number, key in enumerate(self._measures)}
        return [(order[key], place, total) for (key, place), total in self._sums.items()]

    def put_sums(self, sums: Iterable[tuple[int, int, Tensor]]) -> None:
        """Go on from what another process's ``take_sums`` told."""
        keys = list(self._measures)
        self._sums = {(keys[number], place): total for number, place, total in sums}

    def _measure(self, outputs: Tensor, targets: Tensor) -> tuple[Any, ...]:
        return tuple(self._fold(key, measure(outputs, targets)) for key, measure in self._measures.items())

    def _fold(self, key: int, parts: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Adds counts of each class up as they come: those of many classes, kept for each batch, would fill memory."""
        for place, part in enumerate(parts if key in self._summed else ()):
            if part.ndim and not part.is_floating_point():
                total = self._sums.setdefault((key, place), part)
                if total is not part:
                    total.add_(part)
        return tuple(self._sums.get((key, place), part) for place, part in enumerate(parts))

    def _score(self, *gathered: Sequence[tuple[Tensor, ...]]) -> Tensor:
        """0: ``evaluate`` makes NaN of it where no metric says anything."""
        parts = dict(zip(self._measures, gathered, strict=True))
        values: dict[int, Tensor] = {}
        prepared: dict[tuple[int, int], tuple[Tensor, ...]] = {}

        def compute(metric: Metric) -> float:
            def score(*sums: Tensor) -> Tensor:
                return values.setdefault(id(metric), metric.score(*sums))

            def prepare(*gathered: Tensor) -> tuple[Tensor, ...]:
                if (known := (key, id(metric.prepare))) not in prepared:
                    prepared[known] = metric.prepare(*gathered) if metric.prepare else gathered
                return prepared[known]

            key = id(metric.measure)
            columns = enumerate(zip(*parts[key], strict=True))
            measured = [[self._sums[key, place]] if (key, place) in self._sums else part for place, part in columns]
            return metric._replace(score=score, prepare=prepare if metric.prepare else None).compute(measured)

        self._found = {name: compute(metric) for name, metric in self._metrics.items()}
        for metric in self._tables.values():
            if id(metric) not in values:
                compute(metric)
        self.tables = {name: _replace_nan(values[id(metric)].tolist()) for name, metric in self._tables.items()}
        return torch.zeros(())


def _replace_nan(values: Table) -> Table:
    """None, which JSON can hold, in the place of NaN."""
    if isinstance(values, list):
        return [_replace_nan(value) for value in values]
    return None if isinstance(values, float) and math.isnan(values) else values


def count_confusions(
    classes: int, predict: Callable[[Tensor], Tensor], ignore_index: int = -100, taught: bool = False
) -> dict[str, Metric]:
    """ "confusion": how often a class (row) was taken for which; nothing of many classes, which would fill memory.
    ``taught`` are targets that ``with_answers`` makes."""

    def measure(outputs: Tensor, targets: Tensor) -> tuple[Tensor]:
        targets = split_answers(targets, classes)[0] if taught else targets
        predicted, truth = predict(outputs).reshape(-1), targets.reshape(-1)
        counted = (truth >= 0) & (truth != ignore_index)
        cells = torch.zeros(classes * classes, dtype=torch.int64, device=truth.device)
        return (cells.index_add_(0, truth.clamp(min=0) * classes + predicted, counted.long()),)

    def score(cells: Tensor) -> Tensor:
        return cells.view(classes, classes)

    return {"confusion": Metric(measure, score)} if classes <= MOST_SHOWN else {}


def measure_curves(
    probabilities: Callable[[Tensor], Tensor], compare: Callable[..., tuple[Tensor, Tensor]]
) -> dict[str, Metric]:
    """AUROC and average precision."""
    keep = partial(keep_probabilities, probabilities=probabilities)
    scores = {"auroc": auroc, "average_precision": average_precision}
    return {name: Metric(keep, partial(score, compare=compare), torch.cat) for name, score in scores.items()}
