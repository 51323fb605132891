"""Intervals, baselines and a table's rows for what a run kept of its own validations: no network answers once more."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path

import numpy as np

from training.config import RunConfig
from training.config.sections.data.tables import TableDataset
from training.data.prepared import Preparing
from training.errors import CheckpointError, InputError, TrainingError
from training.evaluation.baselines import answer_trivially
from training.evaluation.linear import suits_regression
from training.evaluation.opening import reopen_data
from training.evaluation.rows import read_rows
from training.evaluation.scores import Columns
from training.evaluation.summary import MappedColumns, Simple, answer_simply, measure_intervals, with_losses
from training.facts import DataFacts
from training.predictions import Evaluation, list_evaluations, read
from training.predictions.record import ROWS, EvaluationRecord, Measured
from training.predictions.writing import claim, replace_metrics
from training.runs.folder import RunFolder
from training.runs.records.manifest import list_checkpoints, read_manifest
from training.runs.relocation import config_here
from training.system.atomic import write_bytes


def add_intervals(folder: Path, kept: Preparing | None = None) -> Evaluation:
    """The evaluation in ``folder``, with the intervals and baselines that it lacks written into its record. ``kept`` may still hold the
    run's data. Raises InputError where it cannot be read, OSError where it cannot be written."""
    if not (evaluation := read(folder)).record.lacks_intervals:
        return evaluation
    with claim(folder):
        evaluation = read(folder)
        return _add(evaluation, kept) if evaluation.record.lacks_intervals else evaluation


def _add(evaluation: Evaluation, kept: Preparing | None) -> Evaluation:
    folder, record = evaluation.folder, evaluation.record
    run = RunFolder(folder.parent.parent)
    if run.readable_config() is None:
        raise InputError(
            f"{run.config_file}: cannot be read, so nobody knows what the metrics of {folder.name} are of."
        )
    config, facts = config_here(run), _find_facts(run)
    columns = MappedColumns(evaluation)
    found = {name: math.nan if each.value is None else each.value for name, each in record.metrics.items()}
    others = _list_others(run, record)
    simple = Simple(answer_trivially(record, facts, columns)) if facts is not None else None
    asks = facts is not None and (facts.layout == "tokens" or suits_regression(facts))
    known: Mapping[str, Measured] = _find_known(others, record) if asks else {}
    lacks_rows = isinstance(config.dataset, TableDataset) and not _take_rows(evaluation, others)
    if lacks_rows or (asks and not known):
        simple = _ask_data(run, config, evaluation, columns, kept) or simple
    if simple is not None and facts is not None:
        simple = with_losses(simple, record, config.objective, facts, columns)
    summary = measure_intervals(record, columns, config.objective, found, simple)
    metrics = dict(summary.metrics)
    for name in known.keys() & metrics.keys():
        same = {"baseline": known[name].baseline, "linear": known[name].linear, "lacks": known[name].lacks}
        metrics[name] = metrics[name].model_copy(update=same)
    return replace_metrics(evaluation, metrics, summary.per_class)


def _find_facts(run: RunFolder) -> DataFacts | None:
    """What the run was trained on, as its newest readable checkpoint says; None where none does."""
    for checkpoint in list_checkpoints(run):
        with suppress(CheckpointError, TypeError, ValueError):
            return DataFacts.from_record(read_manifest(checkpoint.path).data.dump())
    return None


def _list_others(run: RunFolder, record: EvaluationRecord) -> list[Evaluation]:
    """What other steps answered to the same samples."""
    same = record.on, record.fingerprint, record.samples
    found = [(each, each.record) for each in list_evaluations(run)]
    return [each for each, other in found if (other.on, other.fingerprint, other.samples) == same]


def _find_known(others: Sequence[Evaluation], record: EvaluationRecord) -> Mapping[str, Measured]:
    """The metrics of a step for which simple predictors were asked: they answer the same at every step."""
    for other in (each.record for each in others):
        if any(each.linear if record.layout == "vector" else each.baseline for each in other.metrics.values()):
            return other.metrics
    return {}


def _take_rows(evaluation: Evaluation, others: Sequence[Evaluation]) -> bool:
    """Whether the rows of the table lie beside the columns, taken from another step where they were not."""
    place = evaluation.folder / ROWS
    for other in [] if place.is_file() else others:
        with suppress(InputError, OSError):
            if np.array_equal(other.column("index"), evaluation.column("index")):
                write_bytes(place, (other.folder / ROWS).read_bytes(), durable=False)
                break
    return place.is_file()


def _ask_data(
    run: RunFolder, config: RunConfig, evaluation: Evaluation, columns: Columns, kept: Preparing | None
) -> Simple | None:
    """What predictors answer that are fitted to the training part, and the rows of a table laid beside the columns; None where the data
    is not what the run saw any more."""
    record = evaluation.record
    made = reopen_data(run, config, record.fingerprint, kept)
    if made is None:
        return None
    with suppress(TrainingError, OSError), closing(made):
        if record.on not in made.splits:
            return None
        order = made.evaluation_order(record.on)
        if np.array_equal(order.numpy(), columns["index"]):
            rows = read_rows(made.source, config.dataset, order)
            if rows is not None:
                write_bytes(evaluation.folder / ROWS, rows, durable=False)
            return answer_simply(record, made, record.on, columns)
    return None
