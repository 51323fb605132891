"""One pass over a part of the data without training."""

from __future__ import annotations

import contextlib

import torch

from training.engine.session import Session


def evaluate(session: Session, part: str, prefix: str) -> dict[str, float]:
    """Per-sample averages over ``part`` ("validation", "test"), named ``prefix/loss``, ``prefix/accuracy``...

    In eval mode and inference mode, with the averaged weights where the run keeps them. Touches no random state, so a
    run validated more often is the same run.
    """
    model = session.model
    averaged = session.ema.swapped(model) if session.ema is not None else contextlib.nullcontext()
    totals = session.objective.new_totals()
    model.eval()
    try:
        with averaged, torch.inference_mode():
            for batch in session.data.evaluation_batches(part):
                with session.numerics.autocast():
                    outputs = model(batch.inputs)
                totals.add(outputs, batch.targets)
    finally:
        model.train()
    return totals.metrics(prefix)
