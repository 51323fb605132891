"""Intervals and baselines of what a run kept of its own validations, from the columns alone: no network answers once more."""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path

from training.errors import CheckpointError, InputError
from training.evaluation.baselines import answer_trivially
from training.evaluation.summary import MappedColumns, measure_intervals
from training.facts import DataFacts
from training.predictions import Evaluation, read
from training.predictions.writing import claim, replace_metrics
from training.runs.folder import RunFolder
from training.runs.records.manifest import list_checkpoints, read_manifest


def add_intervals(folder: Path) -> Evaluation:
    """The evaluation in ``folder``, with the intervals that it lacks written into its record. Raises InputError where it cannot be read,
    OSError where it cannot be written."""
    if not read(folder).record.lacks_intervals:
        return read(folder)
    with claim(folder):
        return _add(read(folder))


def _add(evaluation: Evaluation) -> Evaluation:
    folder, record = evaluation.folder, evaluation.record
    run = RunFolder(folder.parent.parent)
    if not record.lacks_intervals:  # another process was faster
        return evaluation
    config = run.readable_config()
    if config is None:
        raise InputError(
            f"{run.config_file}: cannot be read, so nobody knows what the metrics of {folder.name} are of."
        )
    found = {name: math.nan if each.value is None else each.value for name, each in record.metrics.items()}
    columns, facts = MappedColumns(evaluation), _find_facts(run)
    trivial = answer_trivially(record, facts, columns) if facts is not None else None
    summary = measure_intervals(record, columns, config.objective, found, trivial)
    return replace_metrics(evaluation, summary.metrics, summary.per_class)


def _find_facts(run: RunFolder) -> DataFacts | None:
    """What the run was trained on, as its newest readable checkpoint says; None where none does."""
    for checkpoint in list_checkpoints(run):
        with suppress(CheckpointError, TypeError, ValueError):
            return DataFacts.from_record(read_manifest(checkpoint.path).data.dump())
    return None
