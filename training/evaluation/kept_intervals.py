"""Intervals and baselines of what a run kept of its own validations, from the columns alone: no network answers once more."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

import numpy as np
import torch

from training.config import RunConfig
from training.config.sections.data.own_data import OwnDataSection
from training.data.prepare import prepare
from training.data.prepared import Preparing
from training.data.source import silent
from training.errors import CheckpointError, InputError, TrainingError
from training.evaluation.baselines import answer_trivially
from training.evaluation.linear import suits_regression
from training.evaluation.scores import Columns
from training.evaluation.summary import Answered, MappedColumns, answer_simply, measure_intervals
from training.facts import DataFacts
from training.predictions import Evaluation, list_evaluations, read
from training.predictions.record import EvaluationRecord, Measured
from training.predictions.writing import claim, replace_metrics
from training.runs.folder import RunFolder
from training.runs.records.manifest import list_checkpoints, read_manifest
from training.runs.relocation import config_here


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
    known: Mapping[str, Measured] = {}
    trivial: Answered = answer_trivially(record, facts, columns) if facts is not None else None
    simple: Answered = None
    if facts is not None and (facts.layout == "tokens" or suits_regression(facts)):
        known = _find_known(run, record)
        if not known:
            trivial, simple = _ask_data(run, config, record, columns, kept)
    summary = measure_intervals(record, columns, config.objective, found, trivial, simple)
    metrics = dict(summary.metrics)
    for name in known.keys() & metrics.keys():
        same = {"baseline": known[name].baseline, "linear": known[name].linear}
        metrics[name] = metrics[name].model_copy(update=same)
    return replace_metrics(evaluation, metrics, summary.per_class)


def _find_facts(run: RunFolder) -> DataFacts | None:
    """What the run was trained on, as its newest readable checkpoint says; None where none does."""
    for checkpoint in list_checkpoints(run):
        with suppress(CheckpointError, TypeError, ValueError):
            return DataFacts.from_record(read_manifest(checkpoint.path).data.dump())
    return None


def _find_known(run: RunFolder, record: EvaluationRecord) -> Mapping[str, Measured]:
    """The metrics of another step on the same samples, for which simple predictors were asked: they answer the same at every step."""
    for other in (found.record for found in list_evaluations(run)):
        same = (other.on, other.fingerprint, other.samples) == (record.on, record.fingerprint, record.samples)
        asked = any(each.linear if record.layout == "vector" else each.baseline for each in other.metrics.values())
        if same and asked:
            return other.metrics
    return {}


def _ask_data(
    run: RunFolder, config: RunConfig, record: EvaluationRecord, columns: Columns, kept: Preparing | None
) -> tuple[Answered, Answered]:
    """What predictors answer that are fitted to the training part; none where the data is not what the run saw any more."""
    if isinstance(config.dataset, OwnDataSection):
        return None, None  # a person's code does not run because somebody looks at a chart
    with suppress(TrainingError, OSError), ExitStack() as opened:
        made = (kept.prepare if kept else prepare)(config, torch.device("cpu"), silent, None, run.exclude_file)
        opened.callback(made.close)
        same = made.source.fingerprint == record.fingerprint and record.on in made.splits
        if same and np.array_equal(made.evaluation_order(record.on).numpy(), columns["index"]):
            return answer_simply(record, made, record.on, columns)
    return None, None
