"""THE LOOP."""

from __future__ import annotations

from dataclasses import dataclass

from training.engine.checkpoint_saver import CheckpointSaver
from training.engine.recovery.memory import OutOfMemory
from training.engine.recovery.nonfinite import TooManySkips
from training.engine.recovery.rollback import RollBack
from training.engine.requests import Requests
from training.engine.runs.run_writer import RunWriter
from training.engine.session import Session
from training.engine.step import train_step
from training.engine.step_logger import StepLogger
from training.engine.validation import Validation
from training.events import warn


@dataclass
class Loop:
    """The steps of a session, and what comes between them."""

    session: Session
    writer: RunWriter
    step_logger: StepLogger
    out_of_memory: OutOfMemory
    validation: Validation
    saver: CheckpointSaver
    requests: Requests
    roll_back: RollBack

    def fit(self) -> None:
        """Train from where ``session.progress`` stands, be that the middle of an epoch, until everything asked for is done
        (``progress.finished`` says why) or ``control`` says stop. Raises TooManySkips where the run does not roll back."""
        self.writer.set_phase("training")
        self.step_logger.restart_clock()
        while not (self.session.progress.finished or self.writer.control.stop):
            try:
                self._train_epoch()
            except TooManySkips as row:
                self.roll_back.undo(row)
                self.validation.forget_later()

    def _train_epoch(self) -> None:
        """Train to the end of the epoch, or until ``control`` says stop, or until the windows have to be cut again."""
        session, progress, control = self.session, self.session.progress, self.writer.control
        for window in session.data.steps(progress.epoch, progress.window):
            lr = session.next_lr()
            step = self.out_of_memory.run_step(session.compiled or train_step, window, lr)
            if step is None:  # memory ran out: the same window again, in smaller batches
                break
            loss, norm = step
            progress.count_step()
            self.step_logger.add(lr, window.samples, loss, norm)
            if control.is_due():
                self.step_logger.flush()
                control.poll()
            if progress.window == session.data.steps_per_epoch:
                self.step_logger.flush()
                session.end_epoch()
            self.saver.after_step(control, improved=self.validation.after_step(control))
            for notice in session.data.take_notices():
                self.writer.emit(warn(notice.title, notice.advice, step=progress.step))
            self.requests.handle()
            if control.stop:
                self.step_logger.flush()  # here, where a row of skips that this brings to light can be undone
            if control.stop or progress.finished or progress.window == 0:
                break
