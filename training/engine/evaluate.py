"""One pass over a part of the data without training."""

from __future__ import annotations

import contextlib

import torch

from training.engine.memory import Shortage
from training.engine.session import Session
from training.engine.statistics import measure_statistics
from training.objectives import Tables, Totals


def evaluate(session: Session, part: str, prefix: str, shortage: Shortage) -> tuple[dict[str, float], Tables]:
    """The loss and the metrics over ``part`` ("validation", "test"), named ``prefix/loss``, ``prefix/accuracy``..., and what
    is more than a number.

    In eval mode and inference mode, with the averaged weights where the run keeps them. Touches no random state, so a
    run validated more often is the same run. ``shortage`` decides what happens when memory runs out.
    """
    model = session.model
    measure_statistics(session)
    judged = session.ema is not None and session.ema.started
    averaged = session.ema.swapped(model) if session.ema is not None and judged else contextlib.nullcontext()

    def measure() -> Totals:
        totals = Totals(session.objective)
        for batch in session.data.evaluation_batches(part):
            with session.numerics.autocast():
                outputs = session.told(batch.inputs, model(batch.inputs))
            totals.add(outputs, batch.targets)
        return totals

    model.eval()
    try:
        with averaged, torch.inference_mode(), session.draws(part):
            totals = shortage.evaluate(measure)
            return totals.metrics(prefix), totals.tables()
    finally:
        session.freezing.train()
