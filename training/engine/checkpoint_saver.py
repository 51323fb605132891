"""When a checkpoint is due, and what it holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from training.checkpoints.manager import CheckpointManager
from training.checkpoints.snapshot import Snapshot
from training.config.files import config_data
from training.control import Control
from training.engine.evaluate import measure_statistics
from training.engine.recovery.disk_waits import DiskWaits
from training.engine.runs.run_writer import RunWriter
from training.engine.session import Session
from training.engine.step_logger import StepLogger
from training.optim.optimizers import implementation


class CheckpointSaver:
    """Hands what the session holds to the ``CheckpointManager``."""

    def __init__(
        self, session: Session, writer: RunWriter, step_logger: StepLogger, manager: CheckpointManager
    ) -> None:
        self._session = session
        self._writer = writer
        self._step_logger = step_logger
        self._manager = manager
        self._waits = DiskWaits(session.config, session.data.steps_per_epoch)
        self._facts = describe_training(session)
        self._requested: tuple[int, Mapping[str, float]] = -1, {}  # metrics that were only asked for, and at which step

    def after_step(self, control: Control, improved: bool) -> None:
        """Save where this step calls for it; ``improved`` says that its model is the best so far."""
        progress, every_steps = self._session.progress, self._session.config.checkpoints.every_steps
        self._requested = -1, {}
        due = progress.step % every_steps == 0 if every_steps else progress.window == 0
        if control.fault is None and (due or improved or progress.finished):  # else the folder may be another's now
            self.save(best=improved, planned=True)
            control.save = False

    def add_metrics(self, metrics: Mapping[str, float]) -> None:
        """Let a checkpoint of this very step tell these, too."""
        self._requested = self._session.progress.step, metrics

    def pause(self) -> None:
        """Leave the time up to the next checkpoint out of what is reckoned about the disk."""
        self._waits.pause()

    def save(self, *, best: bool = False, again: bool = False, planned: bool = False) -> None:
        """Hand a snapshot of this very step to the writer; a step already saved is not saved twice, unless ``again``.

        ``planned`` says that the run's own rules call for it: only that is a place to roll back to, or a run whose
        person saved in between would roll back elsewhere.
        """
        progress = self._session.progress
        if self._manager.newest_step == progress.step and not (best or again):
            return
        self._step_logger.flush()  # in all ranks, of which one saves
        if not self._writer.hooks.saves:
            return
        # The steps a checkpoint stands for must outlive a power cut, too: on disk before it, but behind the loop's back.
        self._manager.row_is_open = progress.skipped_in_a_row > 0 and not progress.finished
        self._manager.save(self._snapshot(planned), best=best, first=self._step_logger.sync)
        if (found := self._waits.after_save(progress.step, self._manager)) is not None:
            self._writer.emit(found)
        self._step_logger.restart_clock()

    def _snapshot(self, planned: bool) -> Snapshot:
        session, progress = self._session, self._session.progress
        requested_at, requested = self._requested
        measured = requested_at == progress.step
        measure_statistics(session)
        averaged = session.ema.shadow if session.ema is not None and session.ema.started else {}
        copied = self._manager.copy((averaged, session.model.state_dict(), session.training_state()))
        averaged, weights, state = copied.content
        return Snapshot(
            step=progress.step,
            epoch=progress.epoch,
            weights=weights,
            averaged=averaged,
            state=state,
            metrics={**progress.metrics, **requested} if measured else dict(progress.metrics),
            facts={
                **self._facts,
                "metrics_step": progress.step if measured else progress.metrics_step,
                "averaged": bool(averaged),
                "planned": planned,
            },
            wait_for_copies=copied.wait_for_copies,
        )


def describe_training(session: Session) -> dict[str, Any]:
    """What the manifest says so that weights can be used without the run: classes, input, normalization."""
    data = session.data
    return {
        "config": config_data(session.config),
        "data": {
            "fingerprint": data.source.fingerprint,
            **data.facts.record(),
            "missing": data.normalization.missing,
            "mean": list(data.normalization.mean),
            "std": list(data.normalization.std),
            "training_samples": data.plan.n + data.plan.dropped,
        },
        **({"teacher": data.report.teacher.record()} if data.report.teacher else {}),
        "threads": torch.get_num_threads(),
        "evaluation_batch_size": session.evaluation_size(session.config.loop.batch_size),
        "channels_last": data.channels_last,
        "optimizer": {"implementation": implementation(session.optimizer), "device": session.device.type},
    }
