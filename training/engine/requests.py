"""What a person asks of a run between two steps: to validate, to save, to pause."""

from __future__ import annotations

import time

from training.engine.checkpoint_saver import CheckpointSaver
from training.engine.runs.run_writer import RunWriter
from training.engine.step_logger import StepLogger
from training.engine.validation import Validation

PAUSE_POLL_SECONDS = 0.05


class Requests:
    """Does what ``RunWriter.control`` was told, at the very step where the run stands."""

    def __init__(
        self, writer: RunWriter, step_logger: StepLogger, validation: Validation, saver: CheckpointSaver
    ) -> None:
        self._writer = writer
        self._step_logger = step_logger
        self._validation = validation
        self._saver = saver

    def handle(self) -> None:
        """Do what was asked for; returns when the run may go on."""
        self._validate_and_save()
        if self._writer.control.paused.is_set():
            self._wait()

    def _validate_and_save(self) -> None:
        control = self._writer.control
        if control.fault is not None:  # the folder may be another's now; a paused run loses its folder, too
            return
        if control.validate:
            self._saver.add_metrics(self._validation.validate_on_request())
        if control.save:
            self._saver.save()
        control.validate = control.save = False

    def _wait(self) -> None:
        control = self._writer.control
        self._step_logger.flush_all()
        self._writer.set_phase("paused")
        self._saver.pause()
        while control.paused.is_set():
            time.sleep(PAUSE_POLL_SECONDS)
            control.poll()
            self._validate_and_save()
        self._writer.set_phase("training")
        self._step_logger.restart_clock()
