"""A pass without training whose batches several processes share."""

from __future__ import annotations

from itertools import chain, zip_longest
from typing import Any

import torch
from torch import Tensor

from training.core import evaluation
from training.engine.ranks.group import FINE
from training.engine.session import Session
from training.engine.shortage import describe_memory
from training.objectives import MetricSet


def evaluate_shared(session: Session, part: str, metrics: MetricSet) -> tuple[float, float]:
    """``core.evaluation.evaluate`` over ``part``, to the very bits: the batches are those that one process would take, and are added up
    in their order. Raises what a batch raised in this process, and OutOfMemoryElsewhere where another one's did not fit."""
    ranks = session.ranks
    try:
        mine = _measure(session, part, metrics)
    except Exception as error:
        ranks.agree(ranks.tell_trouble(error, describe_memory(error, session.device)))
        raise
    ranks.refuse_state(*ranks.agree(FINE))
    told = ranks.gather((mine, metrics.take_sums()))
    sums: dict[tuple[int, int], Tensor] = {}
    for _, some in told:
        for number, place, total in some:
            key = number, place
            sums[key] = sums[key] + total if key in sums else total
    metrics.put_sums((number, place, total) for (number, place), total in sums.items())
    rows = zip_longest(*(parts for parts, _ in told))
    parts = [each for each in chain.from_iterable(rows) if each is not None]
    return evaluation.bring_together(parts, session.objective.loss, metrics.metric)


@torch.inference_mode()
def _measure(session: Session, part: str, metrics: MetricSet) -> list[tuple[Any, ...]]:
    """What ``bring_together`` needs of each of this process's batches, on the CPU."""
    ranks, parts = session.ranks, []
    session.answer.eval()
    for batch in session.data.evaluation_batches(part, number=ranks.rank, of=ranks.count):
        with session.numerics.autocast():
            outputs = session.answer(batch.inputs)
        parts.append(evaluation.measure_batch(outputs, batch.targets, session.objective.loss, metrics.metric))
    return [tuple(_to_cpu(each) for each in row) for row in parts]


def _to_cpu(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_to_cpu(each) for each in value)
    return value.cpu() if isinstance(value, Tensor) else value
