"""THE LOOP."""

from __future__ import annotations

import time

from training.control import Control
from training.engine.ledger import Ledger
from training.engine.record import Recorder
from training.engine.rollback import RollBack
from training.engine.session import Session
from training.engine.skips import TooManySkips
from training.engine.step import train_step

LOOK_SECONDS = 0.1
PAUSE_POLL_SECONDS = 0.05


def fit(session: Session, control: Control, recorder: Recorder, ledger: Ledger, roll_back: RollBack) -> None:
    """Train until everything asked for is done, or ``control`` says stop.

    Starts where ``session.progress`` stands, be that the middle of an epoch. Afterwards ``progress.finished`` says why
    no further step is due, or is empty when the run was stopped. Raises TooManySkips where the run does not roll back.
    """
    ledger.phase("training")
    recorder.restart_clock()
    looks = _Looks()
    while not session.progress.finished and session.progress.epoch < session.config.loop.epochs:
        try:
            _train_epoch(session, control, recorder, ledger, looks)
        except TooManySkips as row:
            roll_back.undo(row)
        if control.stop:
            break


class _Looks:
    """When to look at what the person asks for. A clock of its own: saving and validating flush too, and epochs may be
    short; neither must put this off for ever."""

    def __init__(self) -> None:
        self._last = time.perf_counter()

    def due(self) -> bool:
        """Whether it is time again."""
        now = time.perf_counter()
        if now - self._last < LOOK_SECONDS:
            return False
        self._last = now
        return True


def _train_epoch(session: Session, control: Control, recorder: Recorder, ledger: Ledger, looks: _Looks) -> None:
    """Train to the end of the epoch, or until ``control`` says stop, or until the windows have to be cut anew."""
    progress = session.progress
    for window in session.data.train_windows(progress.epoch, progress.window):
        lr = session.lr
        step = ledger.shortage.attempt(train_step, window)
        if step is None:  # memory ran out: the same window again, in smaller batches
            break
        loss, norm = step
        progress.window += 1
        recorder.add(lr, window.samples, loss, norm)
        if looks.due():
            recorder.flush()
            control.poll()
        if progress.window == session.data.steps_per_epoch:
            ledger.end_epoch()
        ledger.do_what_is_due(control)
        if control.paused.is_set():
            _wait(control, recorder, ledger)
        if control.stop:
            recorder.flush()  # here, where a row of skips that this brings to light can be undone
        if control.stop or progress.finished or progress.window == 0:
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
