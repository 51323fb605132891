"""One real step: its loss against that of guessing, its time, the memory it needs."""

from __future__ import annotations

import math

from training.doctor.memory import Trial, memory_findings, try_step
from training.engine.device import ran_out_of_memory
from training.engine.recovery.memory import describe_shortage, find_fitting_batches, make_shortage
from training.engine.session import Session
from training.engine.step import train_step
from training.events import Finding
from training.findings.machine import MEMORY
from training.findings.network import LOSS_BAND, NONFINITE, START


def step_findings(session: Session) -> list[Finding]:
    """What a step shows; the session is spent afterwards."""
    try:
        trial = try_step(session)
    except (RuntimeError, MemoryError) as error:
        if not ran_out_of_memory(error):
            raise
        message = describe_shortage(error, session)
    else:
        return [_loss(session, trial), *memory_findings(session, trial)]
    return [MEMORY.find_error(make_shortage(message, session, find_fitting_batches(session, train_step)))]


def _loss(session: Session, trial: Trial) -> Finding:
    guessing = session.objective.initial_loss
    if not math.isfinite(trial.loss):
        title = f"The loss of the first batch is {trial.loss}."
        return NONFINITE.find("error", title, "Look for broken samples, or use fp32 instead of fp16.")
    if guessing is None:
        return START.ok(f"Initial loss {trial.loss:.3f}.")
    classes = len(session.data.facts.names)
    formula = f"ln {classes:,} = " if classes > 1 and math.isclose(guessing, math.log(classes)) else ""
    title = f"Initial loss {trial.loss:.3f} (chance level {formula}{guessing:.3f})."
    if abs(trial.loss - guessing) <= LOSS_BAND * guessing:
        return START.ok(title)
    advice = "Far above means badly scaled inputs or initial weights; far below means that labels leak."
    return START.find("warning", title, advice, evidence={"loss": trial.loss, "guessing": guessing})
