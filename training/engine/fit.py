"""THE LOOP."""

from __future__ import annotations

import time
from collections.abc import Iterator

from training.control import Control
from training.engine.ledger import Ledger
from training.engine.recovery.nonfinite import TooManySkips
from training.engine.recovery.rollback import RollBack
from training.engine.session import Session
from training.engine.step import train_step
from training.engine.step_logger import StepLogger

LOOK_SECONDS = 0.1
PAUSE_POLL_SECONDS = 0.05


def fit(session: Session, control: Control, step_logger: StepLogger, ledger: Ledger, roll_back: RollBack) -> None:
    """Train until everything asked for is done, or ``control`` says stop.

    Starts where ``session.progress`` stands, be that the middle of an epoch. Afterwards ``progress.finished`` says why
    no further step is due, or is empty when the run was stopped. Raises TooManySkips where the run does not roll back.
    """
    ledger.phase("training")
    step_logger.restart_clock()
    looks = _looks()
    while not (session.progress.finished or control.stop):
        try:
            _train_epoch(session, control, step_logger, ledger, looks)
        except TooManySkips as row:
            roll_back.undo(row)


def _looks() -> Iterator[bool]:
    """After each step: is it time to look at what the person asks for? A clock of its own, whatever flushes or ends."""
    last = time.perf_counter()
    while True:
        due = time.perf_counter() - last >= LOOK_SECONDS
        last = time.perf_counter() if due else last
        yield due


def _train_epoch(
    session: Session, control: Control, step_logger: StepLogger, ledger: Ledger, looks: Iterator[bool]
) -> None:
    """Train to the end of the epoch, or until ``control`` says stop, or until the windows have to be cut again."""
    progress = session.progress
    for window in session.data.steps(progress.epoch, progress.window):
        lr = session.next_lr()
        step = ledger.out_of_memory.run_step(session.compiled or train_step, window, lr)
        if step is None:  # memory ran out: the same window again, in smaller batches
            break
        loss, norm = step
        progress.count_step()
        step_logger.add(lr, window.samples, loss, norm)
        if next(looks):
            step_logger.flush()
            control.poll()
        if progress.window == session.data.steps_per_epoch:
            ledger.end_epoch()
        ledger.after_step(control)
        if control.paused.is_set():
            _wait(control, step_logger, ledger)
        if control.stop:
            step_logger.flush()  # here, where a row of skips that this brings to light can be undone
        if control.stop or progress.finished or progress.window == 0:
            break


def _wait(control: Control, step_logger: StepLogger, ledger: Ledger) -> None:
    step_logger.flush_all()
    ledger.phase("paused")
    while control.paused.is_set():
        time.sleep(PAUSE_POLL_SECONDS)
        control.poll()
        ledger.handle_requests(control)
    ledger.phase("training")
    step_logger.restart_clock()
