"""An evaluation, from its checkpoint to its folder: computed once, gone on with where it was killed."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from torch import Tensor

from training.data.batching.batches import Data
from training.data.prepared import Preparing
from training.data.source import throttle
from training.engine.kept_predictions import announce_evaluation, name_samples
from training.engine.prediction_log import PredictionLog, explain_full_disk, measure_files, run_pass
from training.engine.recovery.memory import OutOfMemory
from training.engine.session import Session
from training.errors import InputError, format_bytes, pluralize
from training.evaluation.baselines import suits_bigrams
from training.evaluation.given import open_given
from training.evaluation.linear import suits_regression
from training.evaluation.opening import (
    GIVEN,
    Measurable,
    ReportProgress,
    is_part,
    make_columns,
    make_metrics,
    open_session,
    reopen_data,
    verify_checkpoint,
)
from training.evaluation.rows import read_rows
from training.evaluation.summary import summarize
from training.predictions import Evaluation, read
from training.predictions.reading import find_damage
from training.predictions.record import ROWS, EvaluationRecord, evaluation_folder
from training.predictions.writing import EvaluationWriter, claim, drop, find_beside, find_unfinished, replace_evaluation


def evaluate_checkpoint(
    checkpoint: Path,
    on: str = "validation",
    report_progress: ReportProgress = lambda text, fraction: None,
    again: bool = False,
    kept: Preparing | None = None,
) -> Evaluation:
    """What ``checkpoint`` answers to each sample of a part of its run's data ("validation", "test", "train"), or of the data in the
    path ``on``, kept in the run's folder. What was computed before is returned, unless ``again``.

    The run itself is not changed. Raises InputError, before anything runs, where checkpoint and data do not fit.
    """
    measurable = verify_checkpoint(checkpoint)
    step = measurable.manifest.step
    if is_part(on):
        folder = evaluation_folder(measurable.run, step, on)
        return _Task(measurable, on, on, folder).carry_out(report_progress, again, kept)
    given = open_given(measurable, Path(on), report_progress)
    folder = evaluation_folder(measurable.run, step, given.fingerprint[:8])
    return _Task(measurable, GIVEN, str(given.path), folder, given.notes).carry_out(report_progress, again, given)


LEFT_OUT = "left-out"
"""The samples that a run's exclude list left out, as a part of its data."""


def evaluate_left_out(checkpoint: Path, numbers: Tensor, report_progress: ReportProgress) -> Evaluation:
    """What ``checkpoint`` answers to samples of its run's data that are in none of its parts: those of the int64 ``numbers``."""
    measurable = verify_checkpoint(checkpoint)
    folder = measurable.run.evaluations / LEFT_OUT
    return _Task(measurable, LEFT_OUT, LEFT_OUT, folder, numbers=numbers).carry_out(report_progress, False, None)


@dataclass(frozen=True)
class _Task:
    measurable: Measurable
    part: str
    on: str
    folder: Path
    notes: tuple[str, ...] = ()
    numbers: Tensor | None = None
    """Of the samples, where they are no part of the data."""

    def carry_out(self, report_progress: ReportProgress, again: bool, kept: Preparing | None) -> Evaluation:
        with ExitStack() as claimed:
            with explain_full_disk(self.folder):
                claimed.enter_context(claim(self.folder))
            if not again and (known := self._find_known(report_progress)) is not None:
                return known
            if not (again and self.folder.is_dir()):
                return self._open(report_progress, kept)
            # What is there stays until the next one is whole.
            made = replace(self, folder=find_beside(self.folder))._open(report_progress, kept)
            with explain_full_disk(self.folder):
                return replace_evaluation(self.folder, made)

    def _open(self, report_progress: ReportProgress, kept: Preparing | None) -> Evaluation:
        opened = self.part if self.numbers is None else "train"
        session = open_session(self.measurable, opened, report_progress, kept)
        if self.numbers is not None:
            session.data.splits[self.part] = self.numbers
        try:
            return self._compute(session, report_progress)
        finally:
            session.data.close()

    def _find_known(self, report_progress: ReportProgress) -> Evaluation | None:
        """The evaluation as it was computed before, whole and of this very checkpoint."""
        with suppress(InputError):
            known = read(self.folder)
            report_progress("checking what was evaluated before", None)
            same = known.record.manifest_sha256 == self.measurable.manifest_sha256 and known.record.on == self.on
            if same and not find_damage(known):
                return known
        return None

    def _compute(self, session: Session, report_progress: ReportProgress) -> Evaluation:
        announced = self._announce(session)
        of_all = f"{pluralize(announced.samples, 'sample')}, {format_bytes(announced.bytes)} of files"
        report_progress(f"evaluating {of_all}", 0.0)
        tell = throttle(report_progress)

        def count(done: int) -> None:
            tell(f"evaluating {done:,} of {of_all}", done / announced.samples)

        file_sizes = measure_files(session, self.part)

        def measure() -> tuple[EvaluationWriter, dict[str, float]]:
            record, metrics = find_unfinished(self.folder, announced), make_metrics(session)
            columns = make_columns(session)
            with explain_full_disk(self.folder):
                writer = EvaluationWriter(self.folder, record)
            try:
                log = PredictionLog(session, self.part, columns, metrics, writer, file_sizes)
            except LookupError:
                writer.close()
                drop(self.folder)
                return measure()
            with writer:
                loss, score = run_pass(session, self.part, log, record.done, count)
            return writer, metrics.results(loss, score)

        with session.seed_user_code(self.part):
            writer, found = OutOfMemory(session, lambda event: None, lambda: None).evaluate(measure)
        with explain_full_disk(self.folder):
            self._describe_samples(writer, session)
            report_progress("computing intervals", None)
            with ExitStack() as opened:
                trained = self._open_trained(session)
                if trained is not None:
                    opened.callback(trained.close)
                summary = summarize(writer.record, self.folder, session, self.part, found, self.notes, trained)
            return writer.finish(summary.metrics, summary.per_class, summary.notes)

    def _open_trained(self, session: Session) -> Data | None:
        """The run's own data beside a table or a text given as a path, which tells nothing of what a regression learns from, or which token
        follows which."""
        known, facts = self.measurable, session.data.facts
        if self.part != GIVEN or not (suits_regression(facts) or suits_bigrams(facts)):
            return None
        return reopen_data(known.run, known.config, known.manifest.data.fingerprint)

    def _announce(self, session: Session) -> EvaluationRecord:
        known, columns = self.measurable, make_columns(session)
        name, sha256 = known.checkpoint.name, known.manifest_sha256
        return announce_evaluation(session, columns, self.part, known.run.id, self.on, name, sha256)

    def _describe_samples(self, writer: EvaluationWriter, session: Session) -> None:
        """What a person and an exclude list call them, and the rows of a table."""
        names, digests = name_samples(session, self.part)
        if names is not None:
            writer.write_names(names)
        own_part = self.part != GIVEN
        if own_part and digests is not None:
            writer.write_digests(digests)
        source, order = session.data.source, session.data.evaluation_order(self.part)
        rows = read_rows(source, session.config.dataset, order, None if own_part else Path(self.on))
        if rows is not None:
            writer.write_file(ROWS, rows)
