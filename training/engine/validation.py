"""The run's validations and its test: which step is the best, early stopping, the plateau schedule."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

from training.checkpoints.load import load_weights
from training.control import Control
from training.diagnosis import LiveDiagnosis
from training.engine.boundary import DecisionBoundary
from training.engine.evaluate import evaluate
from training.engine.kept_predictions import KeptPredictions
from training.engine.prediction_log import Unwritable
from training.engine.recovery.memory import OutOfMemory
from training.engine.recovery.validated import explain_validation
from training.engine.runs.run_writer import RunWriter
from training.engine.session import Session
from training.engine.step_logger import StepLogger
from training.engine.text_samples import TextSamples
from training.events import REACHED, STOPPED_EARLY, EpochEnded, RateDropped, Validated
from training.metric_names import metric
from training.objectives import Tables
from training.runs.records.evaluation import Part, note_evaluation
from training.runs.storage import explain_disk_errors


class Validation:
    """Measures the model between steps. What is decided by that is a function of the step, so that a resumed run decides
    alike."""

    def __init__(
        self,
        session: Session,
        writer: RunWriter,
        step_logger: StepLogger,
        out_of_memory: OutOfMemory,
        diagnosis: LiveDiagnosis,
    ) -> None:
        self._session = session
        self._writer = writer
        self._step_logger = step_logger
        self._out_of_memory = out_of_memory
        self._diagnosis = diagnosis
        self._boundary = DecisionBoundary(session, writer.folder, out_of_memory)
        self._kept = KeptPredictions(session, writer)
        self._texts = TextSamples(session, writer, out_of_memory)
        self._explained = False

    def after_step(self, control: Control) -> bool:
        """Validate where this step calls for it, tell the epoch's end, and finish the run with its last step. Returns whether
        the model is the best so far."""
        session, progress = self._session, self._session.progress
        every_steps = session.config.loop.validate_every_steps
        last = progress.step >= session.total_steps
        epoch_ended = progress.window == 0
        improved = False
        due = epoch_ended or last or (every_steps and progress.step % every_steps == 0)
        if due:
            improved = self._validate()
            control.validate = False
        if epoch_ended:  # told before it is saved: a checkpoint remembers what was told up to it
            self._writer.emit(EpochEnded(step=progress.step, epoch=progress.epoch, metrics=dict(progress.metrics)))
        if last and not progress.finished:
            progress.finish("all steps done")
            if not epoch_ended:
                progress.note_train_loss()
        if due:
            self._diagnosis.after_validation(progress.step)
            self._step_logger.restart_clock()  # what is told and judged of it is no training time either
        return improved

    def forget_later(self) -> None:
        """The run went back to an earlier step."""
        self._boundary.forget_later()
        self._kept.forget_later()
        self._diagnosis.resume(self._session.progress.step)

    def validate_on_request(self) -> dict[str, float]:
        """A validation that was asked for in between: shown, but it decides nothing, or the run would differ by it."""
        metrics, _ = self._measure()
        self._tell(metrics, improved=False)
        return metrics

    def _validate(self) -> bool:
        """A validation that counts: it feeds the best label, early stopping and the plateau schedule."""
        progress, config = self._session.progress, self._session.config
        loop = config.loop
        metrics, tables = self._measure()
        improved = progress.judge(metrics, config.monitor, config.maximize, loop.early_stopping_min_delta)
        if improved:
            self._keep_tables("validation", progress.step, tables)
        if not self._explained and not math.isfinite(metrics["val/loss"]):
            self._explain()
        self._tell(metrics, improved, progress.stale_validations)
        self._follow_plateau(metrics[config.monitor])
        if loop.early_stopping_patience is not None and progress.stale_validations >= loop.early_stopping_patience:
            stale = progress.stale_validations
            progress.finish(f"{STOPPED_EARLY}: {config.monitor} has not improved for {stale} validations")
        threshold = loop.stopping_threshold
        if threshold is not None and progress.has_reached(config.monitor, config.maximize, threshold):
            shown, asked = (metric(config.monitor).show(value) for value in (metrics[config.monitor], threshold))
            progress.finish(f"{REACHED} {config.monitor} {shown} (loop.stopping_threshold: {asked})")
        return improved

    def _explain(self) -> None:
        """Look into the attempt's first validation that has no finite loss."""
        self._explained = True
        if (found := explain_validation(self._session)) is not None:
            self._writer.emit(found)

    def _follow_plateau(self, value: float) -> None:
        """Hand the monitored metric to a plateau schedule, and tell when the rate falls."""
        session, plateau = self._session, self._session.schedule.plateau
        if plateau is None:
            return
        before, config, progress = session.next_lr(), session.config, session.progress
        plateau.update(value, config.maximize)
        after = session.next_lr()
        # Not while SWA holds the rate, nor behind the last step.
        if after < before and progress.step < session.total_steps:
            waited = plateau.patience + 1
            self._writer.emit(
                RateDropped(
                    step=progress.step,
                    epoch=progress.epoch,
                    before=before,
                    after=after,
                    metric=config.monitor,
                    validations=waited,
                )
            )

    def _measure(self) -> tuple[dict[str, float], Tables]:
        self._step_logger.flush()
        before = self._writer.set_phase("validating")
        measured = self._measure_and_keep()
        if not self._session.ranks.rank:
            self._boundary.look()
            self._texts.look()
        self._share_size()
        self._writer.set_phase(before)
        self._step_logger.restart_clock()
        return measured

    def _measure_and_keep(self) -> tuple[dict[str, float], Tables]:
        ranks = self._session.ranks
        kept = None
        if (
            self._session.config.loop.keep_predictions
        ):  # one of several processes keeps all, and so makes the whole pass
            kept = ranks.share(None if ranks.rank else self._keep())
            self._share_size()
        return kept or evaluate(self._session, "validation", "val/", self._out_of_memory)

    def _share_size(self) -> None:
        """Where memory ran out in what the first of several processes did alone, all go on with smaller batches."""
        session = self._session
        size = session.ranks.share(session.progress.evaluation_size)
        if size != session.progress.evaluation_size:
            session.progress.evaluate_in_smaller_batches(size)
            session.cut_batches()

    def _keep(self) -> tuple[dict[str, float], Tables] | None:
        kept = self._kept
        with kept.claim() as claimed:
            if not claimed:
                return None
            try:
                found = evaluate(self._session, "validation", "val/", self._out_of_memory, kept.measure)
            except Unwritable as error:
                kept.give_up(error)
                return None
            kept.finish({name.removeprefix("val/"): value for name, value in found[0].items()})
            return found

    def test(self, best: Path | None) -> None:
        """Measure the weights of the checkpoint ``best``, else those of now, once on the test part, where the data has one."""
        session, progress = self._session, self._session.progress
        if "test" not in session.data.splits:
            return
        best = session.ranks.share(best)
        if best is not None:
            load_weights(best, session.model, averaged=True)
            session = replace(session, ema=None)
        self._writer.set_phase("testing")
        metrics, tables = evaluate(session, "test", "test/", self._out_of_memory)
        self._keep_tables("test", progress.best_saved or progress.step, tables)
        progress.metrics.update(metrics)
        self._tell(metrics, improved=False)

    def _tell(self, metrics: dict[str, float], improved: bool, stale: int | None = None) -> None:
        """``stale`` is early stopping's count, of a validation that counts."""
        progress = self._session.progress
        patience = self._session.config.loop.early_stopping_patience if stale is not None else None
        told = Validated(step=progress.step, epoch=progress.epoch, metrics=metrics, improved=improved)
        self._writer.emit(told if patience is None else replace(told, stale=stale, patience=patience))

    def _keep_tables(self, part: Part, step: int, tables: Tables) -> None:
        """Write down what the best validation so far, or the test, found besides single numbers."""
        folder = self._writer.folder
        with explain_disk_errors(folder.evaluation_file):
            note_evaluation(folder, part, step, self._session.data.facts.names, tables)
