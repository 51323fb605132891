"""Evaluations made up on the spot, in the form that ``python -m training evaluate`` writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars
from numpy.typing import NDArray

from training.predictions import ColumnForm, Evaluation, EvaluationRecord, Measured
from training.predictions.record import MOST_SCORES, ROWS, evaluation_folder
from training.predictions.writing import EvaluationWriter
from training.runs.folder import RunFolder


def make_record(columns: dict[str, NDArray[Any]], names: tuple[str, ...], **given: Any) -> EvaluationRecord:
    """A record for such columns, of a classification where ``given`` says nothing else."""
    forms = {
        name: ColumnForm.model_validate({"dtype": values.dtype.name, "shape": values.shape[1:]})
        for name, values in columns.items()
    }
    facts: dict[str, Any] = {
        "run": "made-up",
        "checkpoint": "step-00000100",
        "step": 100,
        "epoch": 1,
        "manifest_sha256": "0" * 64,
        "on": "validation",
        "fingerprint": "0123456789abcdef",
        "layout": "vector",
        "target": "class",
        "task": "classification",
    }
    return EvaluationRecord(**(facts | given), names=names, samples=len(columns["index"]), columns=forms)


def write_evaluation(
    run: Path,
    columns: dict[str, NDArray[Any]],
    names: tuple[str, ...],
    file_names: list[str] | None = None,
    digests: list[str] | None = None,
    rows: polars.DataFrame | None = None,
    **given: Any,
) -> Evaluation:
    """The evaluation of those ``columns`` in the run folder ``run``."""
    metrics = given.pop("metrics", {})
    record = make_record(columns, names, **given)
    folder = evaluation_folder(RunFolder(run), record.step, record.part or "01234567")
    with EvaluationWriter(folder, record) as writer:
        writer.append(columns)
        if file_names is not None:
            writer.write_names(file_names)
        if digests is not None:
            writer.write_digests(digests)
        if rows is not None:
            rows.write_parquet(folder / ROWS)
        return writer.finish(metrics)


def make_classes(samples: int, classes: int, seed: int = 0, skill: float = 2.0) -> dict[str, NDArray[Any]]:
    """Columns of a classifier that is right more often the higher its ``skill``."""
    rng = np.random.default_rng(seed)
    target = rng.integers(0, classes, samples, dtype=np.int32)
    logits = rng.normal(size=(samples, classes)).astype(np.float32)
    logits[np.arange(samples), target] += np.float32(skill)
    log_sum = np.log(np.exp(logits).sum(1))
    target_score = logits[np.arange(samples), target]
    columns = {
        "index": np.arange(samples),
        "loss": log_sum - target_score,
        "target": target,
        "prediction": logits.argmax(1).astype(np.int32),
        "scores": logits,
        "target_score": target_score,
        "log_sum": log_sum,
    }
    if classes > MOST_SCORES:
        largest = np.argsort(-logits, 1)[:, :MOST_SCORES]
        columns["scores"] = np.take_along_axis(logits, largest, 1)
        columns["classes"] = largest.astype(np.int32)
    return columns


def make_binary(samples: int, seed: int = 0, sharpness: float = 1.0) -> dict[str, NDArray[Any]]:
    """Columns of a binary classifier with one logit, which is calibrated where ``sharpness`` is 1, and too sure above."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(-1.0, 2.0, samples)
    target = (rng.random(samples) < 1 / (1 + np.exp(-logits))).astype(np.int32)
    scores = np.stack([np.zeros(samples), sharpness * logits], 1).astype(np.float32)
    log_sum = np.logaddexp(scores[:, 0], scores[:, 1])
    target_score = scores[np.arange(samples), target]
    return {
        "index": np.arange(samples),
        "loss": log_sum - target_score,
        "target": target,
        "prediction": (scores[:, 1] >= 0).astype(np.int32),
        "scores": scores,
        "target_score": target_score,
        "log_sum": log_sum,
    }


def make_labels(samples: int, labels: int, seed: int = 0) -> dict[str, NDArray[Any]]:
    """Columns of a classifier that tells labels."""
    rng = np.random.default_rng(seed)
    target = (rng.random((samples, labels)) < 0.3).astype(np.uint8)
    scores = (rng.normal(size=target.shape) + 2.0 * target - 1.0).astype(np.float32)
    loss = np.logaddexp(0.0, np.where(target > 0, -scores, scores)).mean(1)
    return {"index": np.arange(samples), "loss": loss.astype(np.float32), "target": target, "scores": scores}


def make_evaluation(run: Path, samples: int = 200, classes: int = 3, **given: Any) -> Evaluation:
    """The evaluation of a made-up classifier."""
    columns = make_classes(samples, classes, given.pop("seed", 0))
    right = float((columns["target"] == columns["prediction"]).mean())
    given.setdefault("metrics", {"accuracy": Measured(value=right, low=right - 0.05, high=min(1.0, right + 0.05))})
    return write_evaluation(run, columns, tuple(f"class {number}" for number in range(classes)), **given)
