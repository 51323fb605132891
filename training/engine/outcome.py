"""How a fault that ended a run is told: what happened, and what to do about it."""

from __future__ import annotations

import traceback

from training.config.engine import Loop
from training.engine.device import ran_out_of_memory
from training.errors import TrainingError
from training.events import Failed


def failure(error: Exception, step: int, loop: Loop) -> Failed:
    """The final event for ``error`` at ``step``; to be called while it is handled, so that its traceback is known."""
    log = traceback.format_exc(limit=-12)
    if isinstance(error, TrainingError):
        return Failed(step=step, reason=error.message, advice=error.advice, log=log)
    if ran_out_of_memory(error):
        half = max(1, loop.batch_size // 2)
        advice = (
            f"Use loop.batch_size = {half} with loop.accumulation = {loop.accumulation * 2}: the same effective batch in "
            "half of the memory."
        )
        return Failed(step=step, reason="The device ran out of memory.", advice=advice, log=log)
    reason = f"An unexpected fault ended the run: {type(error).__name__}: {error}"
    advice = "Resume to go on from the last checkpoint; the log has details." if step else "The log has details."
    return Failed(step=step, reason=reason, advice=advice, log=log)
