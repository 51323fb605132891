"""How a fault that ended a run is told: what happened, and what to do about it."""

from __future__ import annotations

import traceback

from training.config import RunConfig
from training.engine.device import ran_out_of_memory
from training.engine.ranks.group import ALONE, Ranks
from training.engine.recovery.memory import explain_shortage
from training.errors import TrainingError, describe_error
from training.events import Failed
from training.own_code.run_file import describe_placed, place_of


def describe_failure(
    error: Exception, step: int, config: RunConfig, phase: str, saved: bool, ranks: Ranks = ALONE
) -> Failed:
    """The final event for ``error`` at ``step`` in ``phase`` of a run that has a checkpoint or not (``saved``), and that ``ranks`` share; to
    be called while it is handled, so that its traceback is known."""
    log = traceback.format_exc(limit=-12)
    known = explain(error, config, phase, ranks)
    if known is not None:
        return Failed(step=step, reason=known.message, advice=known.advice, log=log, fix=known.fix)
    reason = f"An unexpected fault ended the run: {describe_error(error)}"
    advice = "Resume to go on from the last checkpoint; the log has details." if saved else "The log has details."
    return Failed(step=step, reason=reason, advice=advice, log=log)


def explain(error: Exception, config: RunConfig, phase: str, ranks: Ranks = ALONE) -> TrainingError | None:
    """``error`` as a sentence with what to do about it; None where nobody foresaw it."""
    if ran_out_of_memory(error):
        return explain_shortage(error, phase, config, ranks)
    if isinstance(error, TrainingError):
        return error
    if place_of(error) is None:  # not in a network of the person's own, or a teacher's
        return None
    return TrainingError(describe_placed(error), "Correct the file, and start a new run with it.")
