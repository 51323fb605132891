"""How long a run will take: some of its own steps and validation batches, timed when all is warm."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import count, islice
from statistics import median

from torch import Tensor

from training.core import evaluation
from training.engine.session import Session
from training.engine.step import train_step
from training.objectives import MetricSet
from training.protocol.answers import RunTime

WARM = 3
"""Steps, and batches of the validation part, that are timed behind a first one that is not."""


def measure_run_time(session: Session, patience: float = float("inf")) -> RunTime | None:
    """Time whole steps, samples and all, and some of a validation; the session is spent afterwards. None where the first step
    alone takes longer than ``patience`` seconds."""
    steps = _train(session)
    if _time_next(steps) > patience:
        return None
    session.data.waited = 0.0
    step = median(_time_next(steps) for _ in range(WARM))
    waited = session.data.waited / WARM
    loop, total, per_epoch = session.config.loop, session.total_steps, session.data.steps_per_epoch
    ends = {*range(per_epoch, total, per_epoch), total}
    if loop.validate_every_steps:
        ends.update(range(loop.validate_every_steps, total, loop.validate_every_steps))
    return RunTime(
        step=step,
        waited=waited,
        validation=_time_validation(session),
        steps=total,
        steps_per_epoch=per_epoch,
        validations=len(ends),
    )


def _train(session: Session) -> Iterator[Tensor]:
    for epoch in count():
        for window in session.data.steps(epoch):
            loss, _norm = (session.compiled or train_step)(session, window, session.next_lr())
            yield loss


def _time_next(steps: Iterator[Tensor]) -> float:
    began = time.perf_counter()
    float(next(steps))  # waits for the device
    return time.perf_counter() - began


def _time_validation(session: Session) -> float:
    """Seconds of a pass over the validation part, from its first batches."""
    objective, data = session.objective, session.data
    whole = -(-len(data.splits["validation"]) // data.evaluation_size)

    def evaluate(batches: int) -> None:
        metrics = MetricSet(objective.metrics, objective.tables)
        pairs = ((batch.inputs, batch.targets) for batch in islice(data.evaluation_batches("validation"), batches))
        evaluation.evaluate(session.answer, pairs, objective.loss, metrics.metric, autocast=session.numerics.autocast)

    evaluate(1)
    began = time.perf_counter()
    evaluate(min(WARM, whole))
    return (time.perf_counter() - began) * whole / min(WARM, whole)
