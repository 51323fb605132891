"""Going back to a checkpoint within an attempt, when too many steps in a row had a gradient that was not finite."""

from __future__ import annotations

from pathlib import Path

from training.checkpoints import CheckpointManager
from training.engine.checkpoint_saver import CheckpointSaver
from training.engine.compile import compile_session
from training.engine.recovery.nonfinite import TooManySkips
from training.engine.recovery.restore import take_over
from training.engine.runs.run_writer import RunWriter
from training.engine.session import Session
from training.engine.step_logger import StepLogger
from training.errors import CheckpointError
from training.findings.nonfinite import ROLLED_BACK
from training.runs.records.history import read_history
from training.runs.records.manifest import checkpoint_folders, checkpoint_name, verify
from training.runs.storage import explain_disk_errors

MOST_ROLL_BACKS = 3


class RollBack:
    """Takes a run back to before a row of skips and on from there with a lower learning rate, a few times at most.

    Where it goes back to is a function of the steps: only checkpoints that the run itself planned count, not those that
    a person asked for. A kill between the roll back and the next checkpoint loses nothing: the resumed run comes to the
    same row and goes back in the same way.
    """

    def __init__(
        self,
        writer: RunWriter,
        session: Session,
        step_logger: StepLogger,
        manager: CheckpointManager,
        saver: CheckpointSaver,
    ) -> None:
        self._writer = writer
        self._session = session
        self._step_logger = step_logger
        self._manager = manager
        self._saver = saver
        self._wanted = session.config.loop.after_skips == "roll_back"

    def prepare(self) -> None:
        """Save the run's beginning, so that there is always something to go back to."""
        if self._wanted and not checkpoint_folders(self._writer.folder):
            self._saver.save(planned=True)

    def undo(self, row: TooManySkips) -> None:
        """Put the session where the newest checkpoint before ``row`` stood; raises ``row`` itself where that is not
        wanted, was done too often, or no checkpoint is left."""
        session, loop = self._session, self._session.config.loop
        count, factor = session.progress.roll_backs + 1, session.progress.rate_factor * loop.roll_back_factor
        wanted = self._wanted and count <= MOST_ROLL_BACKS and not session.ranks.rank
        checkpoint = session.ranks.share(self._newest_before(row.first) if wanted else None)
        if checkpoint is None:
            raise row
        # Later checkpoints first: a kill in between must not leave the run to resume from what was given up.
        with explain_disk_errors(self._writer.folder.labels_file):
            self._manager.rewind(checkpoint)
        take_over(checkpoint, session)
        # Where a resumed run had not needed it yet.
        compile_session(session, lambda phase, _: self._writer.set_phase(phase))
        self._writer.set_phase("training")
        progress = session.progress
        progress.set_rate_factor(factor, count)
        with explain_disk_errors(self._writer.folder.series_file):
            self._step_logger.rewind()
            self._manager.relabel(checkpoint.name, progress.best_saved)
        skips = row.step - row.first + 1
        change = f"learning rate: {progress.rate_factor:.3g} of the schedule's"
        attempt = len(read_history(self._writer.folder.events_file).attempts) + 1
        self._writer.announce(session, attempt, checkpoint, (change,))
        found = ROLLED_BACK.find(
            "warning",
            f"Went back from step {row.step:,} to step {progress.step:,}, because the gradient was not finite in "
            f"{skips:,} steps in a row.",
            f"From here on the learning rate is {progress.rate_factor:.3g} of what the schedule says. This was "
            f"roll back {count} of at most {MOST_ROLL_BACKS}.",
            evidence={"from": row.step, "to": progress.step, "rate_factor": progress.rate_factor},
            fix=row.fix,
            step=progress.step,
        )
        self._writer.emit(found)

    def _newest_before(self, step: int) -> Path | None:
        """The newest whole checkpoint that the run planned before ``step``."""
        self._manager.finish()
        for path in checkpoint_folders(self._writer.folder):
            if path.name >= checkpoint_name(step):
                continue
            try:
                if verify(path).planned:
                    return path
            except CheckpointError:
                continue
        return None
