"""What each validation of a run keeps of its samples, where ``loop.keep_predictions`` asks for it: evaluations that need no checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.config.sections.data.dataset_section import PartsSection
from training.data.exclude import sample_digests
from training.data.images.images import Images
from training.data.source import Source
from training.engine.prediction_log import (
    FILE_PROPERTIES,
    PROPERTIES,
    PredictionLog,
    Unwritable,
    explain_full_disk,
    measure_files,
    run_pass,
)
from training.engine.runs.run_writer import RunWriter
from training.engine.session import Session
from training.errors import InputError, format_bytes, pluralize
from training.events import inform, warn
from training.objectives import MetricSet
from training.objectives.columns import Columns
from training.predictions.record import ColumnForm, EvaluationRecord, Measured, evaluation_folder
from training.predictions.writing import EvaluationWriter, claim, drop

_PART = "validation"


def announce_evaluation(
    session: Session, columns: Columns, part: str, run: str, on: str, checkpoint: str = "", manifest_sha256: str = ""
) -> EvaluationRecord:
    """The record of what a pass over ``part`` will find."""
    data = session.data
    properties: tuple[str, ...] = PROPERTIES if data.facts.layout == "image" else ()
    if isinstance(data.source, Images):
        properties += FILE_PROPERTIES
    forms = dict(columns.forms)
    if properties:
        forms["properties"] = ColumnForm(dtype="float32", shape=(len(properties),))
    if data.source.groups is not None:
        forms["group"] = ColumnForm(dtype="int64")
    return EvaluationRecord(
        step=session.progress.step,
        epoch=session.progress.epoch,
        fingerprint=data.source.fingerprint,
        layout=data.facts.layout,
        target=data.facts.target,
        task=session.config.objective.kind,
        names=data.facts.names,
        target_classes=data.facts.target_classes,
        samples=len(data.splits[part]),
        columns=forms,
        properties=properties,
        seed=session.config.seed,
        threshold=columns.threshold,
        run=run,
        on=on,
        checkpoint=checkpoint,
        manifest_sha256=manifest_sha256,
    )


def name_samples(session: Session, part: str) -> tuple[Sequence[str] | None, Sequence[str] | None]:
    """What a person calls each sample of a part, None where it has only its number; and what an exclude list calls it, None where
    there can be no such list."""
    source, order = session.data.source, session.data.evaluation_order(part)
    names = None if type(source).name is Source.name else [source.name(number) for number in order.tolist()]
    listed = isinstance(session.config.dataset, PartsSection) and not source.varies
    return names, sample_digests(source, order, session.data.raw) if listed else None


class KeptPredictions:
    """Stands beside a run's validations. A disk that takes no more ends the keeping, not the run."""

    def __init__(self, session: Session, writer: RunWriter) -> None:
        self._session = session
        self._run = writer
        self._wanted = session.config.loop.keep_predictions
        self._told = False
        self._names: tuple[Sequence[str] | None, Sequence[str] | None] | None = None
        self._file_sizes: NDArray[np.float32] | None = None
        self._open: EvaluationWriter | None = None
        self.forget_later()

    @contextmanager
    def claim(self) -> Iterator[bool]:
        """Whether this validation is kept: ``measure`` it inside then, and ``finish`` or ``give_up``. While another process writes the
        same evaluation it is not, which is told."""
        if not self._wanted:
            yield False
            return
        with ExitStack() as claimed:
            try:
                with explain_full_disk(self._place):
                    claimed.enter_context(claim(self._place))
            except Unwritable as error:
                self.give_up(error)
            except InputError as error:
                advice = "What this validation answered is not kept; the next one is."
                self._run.emit(warn(error.message, advice, step=self._session.progress.step))
            else:
                yield True
                return
        yield False

    @property
    def _place(self) -> Path:
        return evaluation_folder(self._run.folder, self._session.progress.step, _PART)

    def forget_later(self) -> None:
        """The run stands at an earlier step again: what was evaluated beyond it is void."""
        for step, folder in self._run.folder.evaluation_folders():
            if step > self._session.progress.step:
                with (
                    suppress(InputError, OSError),
                    claim(folder),
                ):  # what another process computes, it computes of weights of its own
                    drop(folder)

    def measure(self, metrics: MetricSet) -> tuple[float, float]:
        """Loss and score of the validation part, as ``core.evaluation.evaluate`` returns them. Raises Unwritable."""
        session, folder = self._session, self._run.folder
        columns = Columns(session.config.objective, session.objective, session.data.facts)
        record = announce_evaluation(session, columns, _PART, folder.id, _PART)
        place = self._place
        with explain_full_disk(place):
            drop(place)
            writer = EvaluationWriter(place, record, durable=False)
        with writer:
            if self._file_sizes is None:
                self._file_sizes = measure_files(session, _PART)
            log = PredictionLog(session, _PART, columns, metrics, writer, self._file_sizes)
            found = run_pass(session, _PART, log)
        self._open = writer
        self._tell_size(record)
        return found

    def finish(self, metrics: dict[str, float]) -> None:
        """Close what ``measure`` wrote, with the run's own numbers, named without their part."""
        writer, self._open = self._open, None
        if writer is None:
            return
        if self._names is None:
            self._names = name_samples(self._session, _PART)
        names, digests = self._names
        try:
            with explain_full_disk(writer.folder):
                if names is not None:
                    writer.write_names(names)
                if digests is not None:
                    writer.write_digests(digests)
                writer.finish({name: Measured.of(value) for name, value in metrics.items()})
        except Unwritable as error:
            self.give_up(error)

    def give_up(self, error: Unwritable) -> None:
        """Keep no more predictions in this attempt, and say why."""
        self._wanted, self._open = False, None
        advice = "The run goes on without keeping predictions; free some space and evaluate its checkpoints instead."
        self._run.emit(warn(error.message, advice, step=self._session.progress.step))

    def _tell_size(self, record: EvaluationRecord) -> None:
        if self._told:
            return
        self._told = True
        size = f"{format_bytes(record.bytes)} for {pluralize(record.samples, 'sample')}"
        advice = "They are in the run's evaluations folder, and may be deleted; loop.keep_predictions turns this off."
        self._run.emit(inform(f"Each validation keeps its predictions: {size}.", advice))
