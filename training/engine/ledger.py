"""What happens between steps: epochs end, validations, the best checkpoint, early stopping, saving."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from training.checkpoints.load import load_weights
from training.checkpoints.manager import CheckpointManager
from training.checkpoints.snapshot import Snapshot
from training.checkpoints.write import AVERAGED
from training.config.files import config_data
from training.control import Control
from training.engine.evaluate import evaluate, measure_statistics
from training.engine.recovery.disk_waits import DiskWaits
from training.engine.recovery.memory import OutOfMemory
from training.engine.session import Session
from training.engine.step_logger import StepLogger
from training.errors import pluralize
from training.events import EpochEnded, Event, Found, PhaseChanged, Validated
from training.objectives import Tables
from training.optim.optimizers import implementation
from training.runs.records.evaluation import Part

Emit = Callable[[Event], None]
KeepTables = Callable[[Part, int, Tables], None]


class Ledger:
    """Keeps the run's books. Every decision here is a function of the step, so that a resumed run decides alike."""

    def __init__(
        self,
        session: Session,
        step_logger: StepLogger,
        manager: CheckpointManager,
        emit: Emit,
        keep_tables: KeepTables = lambda part, step, tables: None,
    ) -> None:
        """``keep_tables`` is given what the best validation so far, and the test, found besides single numbers."""
        self._session = session
        self._keep_tables = keep_tables
        self._step_logger = step_logger
        self._manager = manager
        self._emit = emit
        # Planned, as what it replaces may be: it was the person's settings that called for it, not the person.
        self.out_of_memory = OutOfMemory(session, emit, lambda: self.save(anew=True, planned=True))
        self._waits = DiskWaits(session.config, session.data.steps_per_epoch)
        self._facts = _model_facts(session)
        self._phase = ""
        self._looked: tuple[int, dict[str, float]] = (
            -1,
            {},
        )  # where one that was only asked for was made, and its figures

    def phase(self, name: str) -> None:
        """Tell what the engine is busy with."""
        if name != self._phase:
            self._phase = name
            if name == "paused":
                self._waits.pause()
            self._emit(PhaseChanged(phase=name))

    def end_epoch(self) -> None:
        """Close the epoch's books: its mean training loss, and the position moves to the next epoch."""
        self._step_logger.flush()
        progress = self._session.progress
        progress.end_epoch()
        self._session.freezing.follow(progress.epoch)

    def after_step(self, control: Control) -> None:
        """Validate and save where this step calls for it, or the person did."""
        session, progress = self._session, self._session.progress
        loop, every_steps = session.config.loop, session.config.checkpoints.every_steps
        last = progress.step >= session.total_steps
        epoch_ended = progress.window == 0
        improved = False
        self._looked = -1, {}
        if epoch_ended or last or (loop.validate_every_steps and progress.step % loop.validate_every_steps == 0):
            improved = self._validate()
            control.validate = False
        if epoch_ended:  # told before it is saved: a checkpoint remembers what was told up to it
            self._emit(EpochEnded(step=progress.step, epoch=progress.epoch, metrics=dict(progress.metrics)))
        if last and not progress.finished:
            progress.finish("all steps done")
            if not epoch_ended:
                progress.note_train_loss()
        due = progress.step % every_steps == 0 if every_steps else epoch_ended
        if control.fault is not None:  # the folder may be another's now
            return
        if due or improved or progress.finished:
            self.save(best=improved, planned=True)
            control.save = False
        self.handle_requests(control)
        for notice in session.data.take_notices():
            self._emit(Found(level="warning", title=notice.title, advice=notice.advice, step=progress.step))

    def handle_requests(self, control: Control) -> None:
        """Validate and save because the person said so, at this very step, also while the run is paused."""
        if control.fault is not None:  # a paused run loses its folder, too
            return
        if control.validate:
            self._look()
        if control.save:
            self.save()
        control.validate = control.save = False

    def _validate(self) -> bool:
        """A validation that counts: it feeds the best label, early stopping and the plateau schedule."""
        session, progress, config = self._session, self._session.progress, self._session.config
        loop = config.loop
        metrics, tables = self._measure()
        improved = progress.judge(metrics, config.monitor, config.maximize, loop.early_stopping_min_delta)
        if improved:
            self._keep_tables("validation", progress.step, tables)
        self._emit(Validated(step=progress.step, epoch=progress.epoch, metrics=metrics, improved=improved))
        if session.schedule.plateau is not None:
            session.schedule.plateau.update(metrics[config.monitor], config.maximize)
        if loop.early_stopping_patience is not None and progress.stale_validations >= loop.early_stopping_patience:
            stale = progress.stale_validations
            progress.finish(f"early stopping: {config.monitor} has not improved for {stale} validations")
        return improved

    def _look(self) -> None:
        """A validation that was asked for in between: shown, but it decides nothing, or the run would differ by it."""
        progress = self._session.progress
        metrics = self._measure()[0]
        self._looked = progress.step, metrics
        self._emit(Validated(step=progress.step, epoch=progress.epoch, metrics=metrics, improved=False))

    def _measure(self) -> tuple[dict[str, float], Tables]:
        self._step_logger.flush()
        before = self._phase
        self.phase("validating")
        measured = evaluate(self._session, "validation", "val/", self.out_of_memory)
        self.phase(before)
        self._step_logger.restart_clock()
        return measured

    def save(self, *, best: bool = False, anew: bool = False, planned: bool = False) -> None:
        """Hand a snapshot of this very step to the writer; a step already saved is not saved twice, unless ``anew``.

        ``planned`` says that the run's own rules call for it: only that is a place to roll back to, or a run whose
        person saved in between would roll back elsewhere.
        """
        progress = self._session.progress
        if self._manager.newest_step == progress.step and not (best or anew):
            return
        self._step_logger.flush()
        # The steps a checkpoint stands for must outlive a power cut, too: on disk before it, but behind the loop's back.
        self._manager.row_is_open = progress.skipped_in_a_row > 0 and not progress.finished
        self._manager.save(self._snapshot(planned), best=best, first=self._step_logger.sync)
        if (found := self._waits.note(progress.step, self._manager)) is not None:
            self._emit(found)
        self._step_logger.restart_clock()

    def _snapshot(self, planned: bool) -> Snapshot:
        progress = self._session.progress
        looked_at, looks = self._looked
        asked = looked_at == progress.step
        copied = self._manager.copy(self._content())
        averaged, weights, state = copied.content
        return Snapshot(
            step=progress.step,
            epoch=progress.epoch,
            weights=weights,
            averaged=averaged,
            state=state,
            metrics=progress.metrics | looks if asked else dict(progress.metrics),
            facts={
                **self._facts,
                "metrics_step": progress.step if asked else progress.metrics_step,
                "averaged": bool(averaged),
                "planned": planned,
            },
            arrived=copied.arrived,
        )

    def _content(self) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        """What a checkpoint keeps, as it stands: averaged weights, weights, training state."""
        session = self._session
        measure_statistics(session)
        averaged = dict(session.ema.shadow) if session.ema is not None and session.ema.started else {}
        return averaged, session.model.state_dict(), session.training_state()

    def test(self) -> None:
        """Measure the best weights once on the test part, where the data has one."""
        session, progress = self._session, self._session.progress
        if "test" not in session.data.splits:
            return
        best = self._manager.best_path()
        if best is not None:
            load_weights(best, session.model)
            session = replace(session, ema=None)
            if (best / AVERAGED).is_file():
                load_weights(best, session.model, averaged=True)
        self.phase("testing")
        metrics, tables = evaluate(session, "test", "test/", self.out_of_memory)
        self._keep_tables("test", progress.best_saved or progress.step, tables)
        progress.metrics.update(metrics)
        self._emit(Validated(step=progress.step, epoch=progress.epoch, metrics=metrics, improved=False))

    def report_skips(self, before: int) -> None:
        """Say how many steps this attempt skipped, if any."""
        progress = self._session.progress
        count = progress.skipped - before
        if count <= 0:  # a roll back may have gone behind where the attempt began
            return
        title = f"Skipped: {pluralize(count, 'step')} whose gradient was not finite."
        advice = "A few are normal with fp16. Many mean that the learning rate is too high."
        if progress.skipped == progress.step:
            title = f"Nothing was learnt: no gradient was finite, so the run's {pluralize(count, 'step')} left the weights alone."
            advice = "Begin with other weights, look for broken samples, or use fp32 or bf16 in the place of fp16."
        self._emit(Found(level="warning", title=title, advice=advice, step=progress.step))


def _model_facts(session: Session) -> dict[str, Any]:
    """What the manifest says so that weights can be used without the run: classes, input, normalisation."""
    data = session.data
    return {
        "config": config_data(session.config),
        "data": {
            "fingerprint": data.source.fingerprint,
            **data.facts.record(),
            "missing": data.normalisation.missing,
            "mean": list(data.normalisation.mean),
            "std": list(data.normalisation.std),
            "training_samples": data.plan.n,
        },
        **({"teacher": data.report["teacher"]} if "teacher" in data.report else {}),
        "threads": torch.get_num_threads(),
        "evaluation_batch_size": session.evaluation_size(session.config.loop.batch_size),
        "channels_last": data.channels_last,
        "optimizer": {"implementation": implementation(session.optimizer), "device": session.device.type},
    }
