"""One pass over a part of the data without training."""

from __future__ import annotations

import contextlib

import torch

from training.core import evaluation
from training.engine.memory import Shortage
from training.engine.session import Session
from training.engine.statistics import measure_statistics
from training.objectives import MetricSet, Tables


def evaluate(session: Session, part: str, prefix: str, shortage: Shortage) -> tuple[dict[str, float], Tables]:
    """The loss and the metrics over ``part`` ("validation", "test"), named ``prefix/loss``, ``prefix/accuracy``..., and what
    is more than a number.

    In eval mode and inference mode, with the averaged weights where the run keeps them. Touches no random state, so a
    run validated more often is the same run. ``shortage`` decides what happens when memory runs out.
    """
    objective = session.objective
    measure_statistics(session)
    averaged = session.ema.swapped() if session.ema is not None else contextlib.nullcontext()

    def measure() -> tuple[dict[str, float], Tables]:
        metrics = MetricSet(objective.metrics, objective.tables)
        batches = ((batch.inputs, batch.targets) for batch in session.data.evaluation_batches(part))
        loss, score = evaluation.evaluate(
            session.answer, batches, objective.loss, metrics.metric, autocast=session.numerics.autocast
        )
        return {f"{prefix}{name}": value for name, value in metrics.results(loss, score).items()}, metrics.tables

    try:
        with averaged, torch.inference_mode(), session.seeded(part):
            return shortage.evaluate(measure)
    finally:
        session.freezing.train()
