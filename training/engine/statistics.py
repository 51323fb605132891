"""Batch norm's statistics for averaged weights."""

from __future__ import annotations

from training.core.averaging import measure_statistics as measure_on
from training.engine.replay import preserve_state
from training.engine.session import Session
from training.optim.averaging import SWA

MOST_WINDOWS = 100
"""Steps' worth of training samples that statistics are measured on."""


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
    batches = (batch.inputs for number in steps for batch in data.window_again(0, number))
    try:
        with preserve_state(session), average.swapped(), session.seeded("statistics"):
            measure_on(session.model, batches, session.numerics.autocast)
    finally:
        session.freezing.train()
