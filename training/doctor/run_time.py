"""How long a run will take: some of its own steps and validation batches, timed when all is warm."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from itertools import count, islice
from statistics import median

import torch
from torch import Tensor

from training.core import evaluation
from training.engine.session import Session
from training.engine.step import train_step
from training.models.meta_forward import example_input, switch_mode
from training.objectives import MetricSet
from training.own_code.user_rng import preserve_rng
from training.protocol.answers import RunTime

logger = logging.getLogger(__name__)

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


_PASSES = 3
"""Forward passes that a step takes as long as: backward computes twice as much."""


def estimate_run_time(session: Session, processes: int) -> float | None:
    """Seconds that the steps of the run take at the least, where so many ``processes`` share its slots; the session stays what it was. By a
    forward pass over made samples, as many as a slot has: neither samples nor the optimizer are waited for. None where the network
    refuses them."""
    loop, device, model = session.config.loop, session.device, session.answer
    kind = next((each.dtype for each in session.parameters if each.is_floating_point()), torch.float32)
    made = example_input(session.data.facts, -(-loop.batch_size // loop.slots), device, kind)
    devices = [device] if device.type == "cuda" else []

    def time_forward() -> float:
        began = time.perf_counter()
        with session.numerics.autocast():
            model(made)
        if devices:
            torch.cuda.synchronize(device)
        return time.perf_counter() - began

    with torch.no_grad(), preserve_rng(devices), session.seed_user_code("probe"), switch_mode(model, training=False):
        try:
            time_forward()  # loads kernels
            seconds = time_forward()
        except Exception:  # whatever a person's own network raises
            logger.info("The network could not be timed", exc_info=True)
            return None
    return _PASSES * seconds * (loop.slots // processes) * loop.accumulation * session.total_steps


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
