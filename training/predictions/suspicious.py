"""Suspicious labels: what confident learning finds in answers of a model that did not train on the samples."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from training.errors import InputError
from training.predictions.reading import Evaluation
from training.predictions.record import EvaluationRecord, RecordForm
from training.runs.folder import RunFolder, read_json
from training.runs.records.forms import Count
from training.runs.records.manifest import seal
from training.statistics.confident import find_suspicious
from training.system.atomic import write_text

FILE: Final = "suspicious.json"
ON_TRAIN = (
    "Of the training part this model cannot tell which labels are suspicious: it has trained on them, wrong ones as well. "
    "Runs that leave a part of the samples out each can (python -m training labels RUN --on train)."
)


class SuspiciousLabel(RecordForm):
    """A sample by its ``number`` in the data, the class that it was ``given`` and the one it is likelier of. ``score``, from 0 to 1, is
    how much more probable that is; ``digest`` is what an exclude list calls the sample, "" of data that has none."""

    number: Count
    name: str
    given: str
    suggested: str
    score: float
    digest: str = ""


class SuspiciousLabels(RecordForm):
    """All that were found in ``on`` among ``samples``, the most suspicious first. ``folds`` runs judged the training part; 0: it is
    another part, and the run itself did. ``fingerprint`` is that of the run's data."""

    format: Literal[1] = 1
    on: str
    fingerprint: str
    samples: Count
    folds: Count = 0
    seed: int = 0
    found: tuple[SuspiciousLabel, ...]
    notes: tuple[str, ...] = ()


def refuse_labels(record: EvaluationRecord) -> str:
    """Why there are no suspicious labels in such an evaluation, in a sentence; "" where there may be."""
    if record.target != "class" or "log_sum" not in record.columns:
        return f"Suspicious labels are found where each sample has one class; this run learns {_name_target(record)}."
    return ON_TRAIN if record.on == "train" else ""


def _name_target(record: EvaluationRecord) -> str:
    kinds = {
        "labels": "several labels at once",
        "values": "values",
        "mask": "masks",
        "tokens": "text",
        "ranks": "ranks",
    }
    return kinds.get(record.target, "several tasks" if record.target == "tasks" else "distances")


def find_suspicious_labels(evaluation: Evaluation) -> SuspiciousLabels:
    """Of samples that the model did not train on. Raises InputError where it did, or where they have not one class each."""
    if why := refuse_labels(evaluation.record):
        raise InputError(why)
    record = evaluation.record
    found = rank_labels([evaluation])
    return SuspiciousLabels(on=record.on, fingerprint=record.fingerprint, samples=record.samples, found=found)


def rank_labels(evaluations: Sequence[Evaluation]) -> tuple[SuspiciousLabel, ...]:
    """Of all their samples together, each in one of them, the most suspicious first. Raises InputError."""
    classes = evaluations[0].record.names
    if any(each.record.names != classes for each in evaluations):
        raise InputError("The classes differ between the parts; keep at least one sample of a class in each.")
    chances = np.concatenate([find_chances(each) for each in evaluations])
    given = np.concatenate([np.asarray(each.column("target"), np.int64) for each in evaluations])
    starts = np.cumsum([0, *(each.record.samples for each in evaluations)])
    suspicion = find_suspicious(chances, given)
    found = []
    for sample, suggested, margin in zip(*(each.tolist() for each in suspicion), strict=True):
        which = int(np.searchsorted(starts, sample, "right")) - 1
        evaluation, row = evaluations[which], sample - int(starts[which])
        found.append(
            SuspiciousLabel(
                number=int(evaluation.column("index")[row]),
                name=evaluation.names[row],
                given=classes[given[sample]],
                suggested=classes[suggested],
                score=margin,
                digest=evaluation.digests[row] if evaluation.digests is not None else "",
            )
        )
    return tuple(found)


def find_chances(evaluation: Evaluation) -> NDArray[np.float32]:
    """(n, classes): how probable each class was held to be; of more than 20 classes, those that no score was kept of are 0."""
    log_sum, target = np.asarray(evaluation.column("log_sum"))[:, None], evaluation.column("target")
    kept: NDArray[np.float32] = np.exp(np.minimum(evaluation.column("scores") - log_sum, 0.0))
    if not evaluation.has("classes"):
        return kept
    chances = np.zeros((len(kept), len(evaluation.record.names)), np.float32)
    np.put_along_axis(chances, np.asarray(evaluation.column("classes"), np.int64), kept, 1)
    known = np.flatnonzero(target >= 0)
    own: NDArray[Any] = np.exp(np.minimum(evaluation.column("target_score") - log_sum[:, 0], 0.0))
    chances[known, target[known]] = own[known]
    return chances


def write_found(run: RunFolder, found: SuspiciousLabels) -> None:
    """Keep what was found in the training part. Raises OSError."""
    run.labels.mkdir(exist_ok=True)
    write_text(run.labels / FILE, json.dumps(seal(json.loads(found.model_dump_json())), indent=1) + "\n")


def read_found(run: RunFolder) -> SuspiciousLabels | None:
    """What was found in the training part; None where nobody looked, or the file is damaged."""
    data = read_json(run.labels / FILE)
    if not data or data != seal(data):
        return None
    try:
        return SuspiciousLabels.model_validate(data)
    except ValidationError:
        return None
