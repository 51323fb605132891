"""What each run answers to the fold that it was trained without, and all of that together as one evaluation."""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from training.config import RunConfig
from training.errors import InputError
from training.evaluation import evaluate_left_out
from training.evaluation.scores import measure_columns
from training.evaluation.summary import MappedColumns, measure_intervals
from training.predictions import Evaluation
from training.predictions.record import ROWS, EvaluationRecord
from training.predictions.writing import EvaluationWriter, claim, drop
from training.runs.folder import RunFolder
from training.runs.workspace import find_checkpoint

FOLDER = "out-of-fold"


def evaluate_folds(study: str, runs: list[str], folds: dict[str, Any]) -> dict[str, Any]:
    """``runs`` are the folders of the runs, ``folds`` what ``write_folds`` answered. Keeps the evaluation of all in the folder ``study``, and
    answers the metrics of each fold and those of all samples together."""
    judged = []
    for path, numbers in zip(runs, folds["numbers"], strict=True):
        checkpoint = _find_checkpoint(RunFolder(Path(path)), last=folds["by"] == "time")
        judged.append(evaluate_left_out(checkpoint, torch.tensor(numbers, dtype=torch.int64), lambda *_: None))
    config = RunFolder(Path(runs[0])).config()
    whole = combine(Path(study) / "evaluations" / FOLDER, judged, config, folds["fingerprint"])
    return {
        "each": [{name: each.value for name, each in one.record.metrics.items()} for one in judged],
        "whole": {name: each.model_dump(mode="json") for name, each in whole.record.metrics.items()},
        "folder": str(whole.folder),
        "samples": whole.record.samples,
    }


def _find_checkpoint(run: RunFolder, last: bool) -> Path:
    """The best by the run's own validation part; the last where that part is later than what is to be answered."""
    newest = run.status().last_checkpoint
    if last and newest is not None:
        return Path(newest)
    return find_checkpoint(str(run.path), run.path.parent.parent)[0]


def combine(folder: Path, judged: Sequence[Evaluation], config: RunConfig, fingerprint: str) -> Evaluation:
    """One evaluation of all samples, by their numbers. Raises InputError where the runs do not answer alike."""
    records = [each.record for each in judged]
    first = records[0]
    for number, record in enumerate(records, 1):
        if record.names != first.names or record.columns != first.columns:
            raise InputError(
                f"Fold {number} knows other classes or columns than fold 1, since some have too few samples; take fewer folds."
            )
    index = np.concatenate([each.column("index") for each in judged])
    order = np.argsort(index, kind="stable")
    announced = first.model_copy(
        update={
            "run": folder.parent.parent.name,
            "checkpoint": "",
            "step": 0,
            "epoch": 0,
            "manifest_sha256": "",
            "fingerprint": fingerprint,
            "samples": len(index),
            "done": 0,
            "metrics": {},
            "per_class": {},
            "notes": (),
            "files": {},
        }
    )
    folder.parent.mkdir(exist_ok=True)
    with claim(folder):
        drop(folder)
        with EvaluationWriter(folder, announced) as writer:
            columns = {name: np.concatenate([each.column(name) for each in judged])[order] for name in first.columns}
            writer.append(columns)
            writer.save()
            writer.write_names(_order([name for each in judged for name in each.names], order))
            digests = [each.digests for each in judged]
            known = [each for each in digests if each is not None]
            if len(known) == len(digests):
                writer.write_digests(_order([digest for each in known for digest in each], order))
            _write_rows(writer, judged, order)
            found = _measure(writer.record, folder, judged, config)
            summary = measure_intervals(
                writer.record, MappedColumns(Evaluation(folder, writer.record)), config.objective, found
            )
            return writer.finish(summary.metrics, summary.per_class, summary.notes)


def _order(values: Sequence[str], order: NDArray[np.intp]) -> list[str]:
    return [values[place] for place in order.tolist()]


def _write_rows(writer: EvaluationWriter, judged: Sequence[Evaluation], order: NDArray[np.intp]) -> None:
    rows = [each.rows for each in judged]
    known = [each for each in rows if each is not None]
    if len(known) < len(rows):
        return
    import polars

    stream = io.BytesIO()
    polars.concat(known, how="vertical_relaxed")[order.tolist()].write_parquet(stream)
    writer.write_file(ROWS, stream.getvalue())


def _measure(
    record: EvaluationRecord, folder: Path, judged: Sequence[Evaluation], config: RunConfig
) -> Mapping[str, float]:
    """The metrics of all samples together: of their columns where those tell, else the folds' own, weighed by their samples."""
    columns = MappedColumns(Evaluation(folder, record))
    scores = measure_columns(record, columns, int(getattr(config.objective, "top", 1))).whole
    sizes = [each.record.samples for each in judged]
    found = {}
    for name in judged[0].record.metrics:
        values = [each.record.metrics[name].value if name in each.record.metrics else None for each in judged]
        if name in scores and math.isfinite(scores[name].value):
            found[name] = float(scores[name].value)
        elif all(value is not None for value in values):
            found[name] = float(np.average([value for value in values if value is not None], weights=sizes))
    return found
