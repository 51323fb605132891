"""THE LOOP."""

from __future__ import annotations

import time

from training.control import Control
from training.engine.ledger import Ledger
from training.engine.record import Recorder
from training.engine.session import Session
from training.engine.step import train_step

LOOK_SECONDS = 0.1
PAUSE_POLL_SECONDS = 0.05


def fit(session: Session, control: Control, recorder: Recorder, ledger: Ledger) -> None:
    """Train until everything asked for is done, or ``control`` says stop.

    Starts where ``session.progress`` stands, be that the middle of an epoch. Afterwards ``progress.finished`` says why
    no further step is due, or is empty when the run was stopped.
    """
    progress, epochs = session.progress, session.config.loop.epochs
    ledger.phase("training")
    recorder.restart_clock()
    # A clock of its own: saving and validating flush too, and must not put this off for ever.
    looked = time.perf_counter()
    while not progress.finished and progress.epoch < epochs:
        for window in session.data.train_windows(progress.epoch, progress.window):
            lr = session.lr
            step = ledger.shortage.attempt(train_step, window)
            if step is None:  # memory ran out: the same window again, in smaller batches
                break
            loss, norm = step
            progress.window += 1
            recorder.add(lr, window.samples, loss, norm)
            if time.perf_counter() - looked >= LOOK_SECONDS:
                looked = time.perf_counter()
                recorder.flush()
                control.poll()
                ledger.refuse_endless_skipping()
            if progress.window == session.data.steps_per_epoch:
                ledger.end_epoch()
            ledger.do_what_is_due(control)
            if control.paused.is_set():
                _wait(control, recorder, ledger)
            if control.stop or progress.finished or progress.window == 0:
                break
        if control.stop:
            break


def _wait(control: Control, recorder: Recorder, ledger: Ledger) -> None:
    recorder.flush()
    ledger.phase("paused")
    while control.paused.is_set():
        time.sleep(PAUSE_POLL_SECONDS)
        control.poll()
        ledger.do_what_is_asked(control)
    ledger.phase("training")
    recorder.restart_clock()
