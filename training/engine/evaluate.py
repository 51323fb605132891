"""One pass over a part of the data without training."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import torch

from training.core import evaluation
from training.core.averaging import measure_statistics as measure_on
from training.engine.ranks.shared_evaluation import evaluate_shared
from training.engine.recovery.memory import OutOfMemory
from training.engine.recovery.replay import preserve_state
from training.engine.session import Session
from training.objectives import MetricSet, Tables
from training.optim.averaging import SWA

MOST_WINDOWS = 100
"""Steps' worth of training samples that statistics are measured on."""


def evaluate(
    session: Session,
    part: str,
    prefix: str,
    out_of_memory: OutOfMemory,
    measure_part: Callable[[MetricSet], tuple[float, float]] | None = None,
) -> tuple[dict[str, float], Tables]:
    """The loss and the metrics over ``part`` ("validation", "test"), named ``prefix/loss``, ``prefix/accuracy``..., and what
    is more than a number.

    In eval mode and inference mode, with the averaged weights where the run keeps them. Touches no random state, so a
    run validated more often is the same run. ``out_of_memory`` decides what happens when memory runs out. ``measure_part`` makes the
    pass in place of ``core.evaluation``, to the same numbers.
    """
    objective = session.objective

    def measure() -> tuple[dict[str, float], Tables]:
        metrics = MetricSet(objective.metrics, objective.tables)
        if measure_part is not None:
            loss, score = measure_part(metrics)
        elif session.ranks.count > 1:
            loss, score = evaluate_shared(session, part, metrics)
        else:
            batches = ((batch.inputs, batch.targets) for batch in session.data.evaluation_batches(part))
            loss, score = evaluation.evaluate(
                session.answer, batches, objective.loss, metrics.metric, autocast=session.numerics.autocast
            )
        return {f"{prefix}{name}": value for name, value in metrics.results(loss, score).items()}, metrics.tables

    with measure_quietly(session, part):
        return out_of_memory.evaluate(measure)


@contextlib.contextmanager
def measure_quietly(session: Session, what: str) -> Iterator[None]:
    """Inside, the network has the weights that are validated and may be asked in eval mode; afterwards it trains on as if nobody
    had. ``what`` is what a person's own code draws its numbers for."""
    measure_statistics(session)
    averaged = session.ema.swap_weights() if session.ema is not None else contextlib.nullcontext()
    try:
        with averaged, torch.inference_mode(), session.seed_user_code(what):
            yield
    finally:
        session.freezing.train()


def measure_statistics(session: Session) -> None:
    """Measure batch norm's statistics again where weights were taken into an equal average since.

    Over the samples of the first epoch's first steps, augmented as training saw them. What comes out depends on the averaged
    weights and the data alone: whoever looks or saves in between changes nothing of the run.
    """
    average, data = session.ema, session.data
    if not isinstance(average, SWA) or not average.stale or not average.started:
        return
    average.stale = False
    steps = range(min(data.steps_per_epoch, MOST_WINDOWS))
    batches = (batch.inputs for number in steps for batch in data.rebuild_step(0, number))
    try:
        with preserve_state(session), average.swap_weights(), session.seed_user_code("statistics"):
            measure_on(session.model, batches, session.numerics.autocast)
    finally:
        session.freezing.train()
