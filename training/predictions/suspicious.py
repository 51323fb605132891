"""Suspicious labels: what confident learning finds in answers of a model that did not train on the samples."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
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
from training.statistics.confident import find_suspicious, find_suspicious_sets
from training.statistics.logits import squash
from training.system.atomic import write_text

FILE: Final = "suspicious.json"
_STRONG: Final = 0.9
"""Of the samples: a model that answers fewer with their label is wrong more often than labels are."""
ON_TRAIN = (
    "Of the training part this model cannot tell which labels are suspicious: it has trained on them, wrong ones as well. "
    "Runs that leave a part of the samples out each can (python -m training labels RUN --on train)."
)


class SuspiciousLabel(RecordForm):
    """A sample by its ``number`` in the data, the class that it was ``given`` and the one it is likelier of; of several labels those
    that are probably wrong ("cat, no dog"), and what they are likelier. ``score``, from 0 to 1, is how improbable the given one is, of
    the label of which it is most so; ``digest`` is what an exclude list calls the sample, "" of data that has none."""

    number: Count
    name: str
    given: str
    suggested: str
    score: float
    digest: str = ""


class SuspiciousLabels(RecordForm):
    """All that were found in ``on`` among ``samples``, the most suspicious first. ``folds`` runs judged the training part; 0: it is
    another part, and the run itself did. ``fingerprint`` is that of the run's data."""

    format: Literal[2] = 2  # 1 had another score
    on: str
    fingerprint: str
    samples: Count
    folds: Count = 0
    seed: int = 0
    found: tuple[SuspiciousLabel, ...]
    notes: tuple[str, ...] = ()


_NO_LABELS: Final = {
    "values": "values, of which none is wrong but for being far off: sort the samples by their loss instead",
    "mask": "masks, which are right and wrong by pixels: sort the images by their loss instead",
    "tokens": "text, which was given no label: sort the texts by their loss instead",
    "ranks": "ranks, which have no probability: sort the lists by their loss instead",
    "tasks": "several tasks, and a sample may be wrong in one and right in another: train each alone to ask for its labels",
    "class": "distances, which tell no probability of a class: look at the neighbors of other classes instead",
}


def refuse_target(target: str, has_probabilities: bool) -> str:
    """Why confident learning finds no suspicious labels in answers of this kind, in a sentence; "" where it does."""
    if target == "labels" or (target == "class" and has_probabilities):
        return ""
    return f"Suspicious labels are found where samples have a class or labels; this run learns {_NO_LABELS[target]}."


def refuse_labels(record: EvaluationRecord) -> str:
    """Why there are no suspicious labels in such an evaluation, in a sentence; "" where there may be."""
    return refuse_target(record.target, "log_sum" in record.columns) or (ON_TRAIN if record.on == "train" else "")


def find_suspicious_labels(evaluation: Evaluation) -> SuspiciousLabels:
    """Of samples that the model did not train on. Raises InputError where it did, or where they have neither a class nor labels."""
    if why := refuse_labels(evaluation.record):
        raise InputError(why)
    record = evaluation.record
    return SuspiciousLabels(
        on=record.on,
        fingerprint=record.fingerprint,
        samples=record.samples,
        found=rank_labels([evaluation]),
        notes=note_weakness([evaluation]),
    )


def note_weakness(evaluations: Sequence[Evaluation]) -> tuple[str, ...]:
    """That most of what is found is probably right, where the labels of many samples are not what the model answers."""
    if evaluations[0].record.target != "class":
        return ()
    labels, answers = (np.concatenate([each.column(name) for each in evaluations]) for name in ("target", "prediction"))
    known = labels >= 0
    share = float((answers[known] == labels[known]).mean()) if known.any() else 1.0
    if share >= _STRONG:
        return ()
    return (
        f"The model agrees with only {share:.0%} of all labels, so most labels in this list are right. The first rows are the likeliest to "
        "be wrong.",
    )


def rank_labels(evaluations: Sequence[Evaluation]) -> tuple[SuspiciousLabel, ...]:
    """Of all their samples together, each in one of them, the most suspicious first. Raises InputError."""
    classes = evaluations[0].record.names
    if any(each.record.names != classes for each in evaluations):
        raise InputError("The classes differ between the parts; keep at least one sample of a class in each.")
    chances = np.concatenate([find_chances(each) for each in evaluations])
    given = np.concatenate([np.asarray(each.column("target"), np.int64) for each in evaluations])
    starts = np.cumsum([0, *(each.record.samples for each in evaluations)])
    found = []
    for sample, was, suggested, score in _rank(chances, given, classes):
        which = int(np.searchsorted(starts, sample, "right")) - 1
        evaluation, row = evaluations[which], sample - int(starts[which])
        found.append(
            SuspiciousLabel(
                number=int(evaluation.column("index")[row]),
                name=evaluation.names[row],
                given=was,
                suggested=suggested,
                score=score,
                digest=evaluation.digests[row] if evaluation.digests is not None else "",
            )
        )
    return tuple(found)


def _rank(
    chances: NDArray[np.float32], given: NDArray[np.int64], classes: Sequence[str]
) -> Iterator[tuple[int, str, str, float]]:
    """The rows, what they were given, what they are likelier, and how improbable the given is."""
    if given.ndim == 1:
        for row, suggested, score in zip(*(each.tolist() for each in find_suspicious(chances, given)), strict=True):
            yield row, classes[given[row]], classes[suggested], score
        return
    rows, wrong, scores = find_suspicious_sets(chances, given)
    for row, labels, score in zip(rows.tolist(), wrong, scores.tolist(), strict=True):
        places = np.flatnonzero(labels).tolist()
        was, suggested = (
            ", ".join(classes[at] if (given[row, at] > 0) == on else f"no {classes[at]}" for at in places)
            for on in (True, False)
        )
        yield row, was, suggested, score


def find_chances(evaluation: Evaluation) -> NDArray[np.float32]:
    """(n, classes): how probable each class, or each of several labels, was held to be; of more than 20 classes, those that no score
    was kept of are 0."""
    if evaluation.record.target == "labels":
        return squash(np.asarray(evaluation.column("scores"), np.float64)).astype(np.float32)
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


def read_found(run: RunFolder, fingerprint: str = "") -> SuspiciousLabels | None:
    """What was found in the training part of the data with that ``fingerprint``, "" for any; None where nobody looked, or the file is
    damaged."""
    data = read_json(run.labels / FILE)
    if not data or data != seal(data):
        return None
    try:
        found = SuspiciousLabels.model_validate(data)
    except ValidationError:
        return None
    return found if fingerprint in ("", found.fingerprint) else None
