"""What was measured of a model before it is asked: how far its numbers are from the truth, and where samples lie that it knows."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.answering.model import UsableModel
from training.errors import InputError, pluralize
from training.predictions import Evaluation, list_evaluations
from training.protocol.model_answers import Neighbor
from training.runs.folder import RunFolder
from training.runs.records.manifest import MANIFEST, digest

_METRICS = {"rmse": "root-mean-square error", "mae": "mean absolute error"}
"""Those in the unit of the value, the one that is taken first."""
_MOST = 0.9
_NEAREST = 5


class UsualError(NamedTuple):
    """In the unit of the value; ``within`` is what 9 of 10 samples are within, None where no evaluation tells. ``words`` say what both
    are."""

    usual: float
    within: float | None
    words: str


class Measured(NamedTuple):
    """``evaluation`` is of this very checkpoint, on samples that it was not trained on where there are such; None of an export, and
    where there is none."""

    errors: Mapping[str, UsualError]
    evaluation: Evaluation | None

    def find_nearest(self, embedding: NDArray[np.float32]) -> tuple[Neighbor, ...]:
        """The evaluated samples that lie nearest to ``embedding`` (D,), the first one first."""
        evaluation = self.evaluation
        if evaluation is None or not evaluation.has("embedding"):
            return ()
        known = evaluation.column("embedding")
        if known.shape[1:] != embedding.shape:
            return ()
        distances = np.linalg.norm(known - embedding, axis=1)
        places = np.argsort(distances, kind="stable")[:_NEAREST].tolist()
        names, targets, index = evaluation.record.names, evaluation.column("target"), evaluation.column("index")
        return tuple(
            Neighbor(
                name=evaluation.names[place],
                of=names[int(targets[place])] if 0 <= int(targets[place]) < len(names) else "",
                distance=float(distances[place]),
                on=evaluation.record.on,
                number=int(index[place]),
            )
            for place in places
        )


def measure_model(model: UsableModel) -> Measured:
    """What is known of it now: an evaluation may come while it is loaded."""
    if model.kind not in ("values", "tasks", "embedding"):
        return Measured({}, None)
    evaluation = _find_evaluation(model)
    errors = _validated_errors(model)
    if evaluation is not None and evaluation.has("prediction"):
        with suppress(InputError):  # its files are damaged: the checkpoint still tells something
            errors |= _evaluated_errors(model, evaluation)
    return Measured(errors, evaluation)


def _find_evaluation(model: UsableModel) -> Evaluation | None:
    if model.is_export or model.path.parent.name != "checkpoints":
        return None
    manifest = digest(model.path / MANIFEST)
    found = [
        each
        for each in list_evaluations(RunFolder(model.path.parent.parent))
        if (each.record.checkpoint, each.record.manifest_sha256) == (model.path.name, manifest)
    ]
    held_out = [each for each in found if each.record.on != "train"]
    if model.kind == "embedding":
        return next(iter([*held_out, *found]), None)
    return next(iter(held_out), None)  # what it was trained on says too little of its errors


def _evaluated_errors(model: UsableModel, evaluation: Evaluation) -> dict[str, UsualError]:
    apart = evaluation.column("prediction").astype(np.float64) - evaluation.column("target")
    errors, part = {}, evaluation.record.part or "evaluated"
    for place, name in enumerate(evaluation.record.names):
        known = apart[:, place][np.isfinite(apart[:, place])]
        if name not in _value_names(model) or not len(known):
            continue
        within = float(np.quantile(np.abs(known), _MOST, method="higher"))
        samples = pluralize(len(known), f"{part} sample")
        words = f"± is the {_METRICS['rmse']} of {samples}; 9 of 10 of them are within {within:.3g} of the truth"
        errors[name] = UsualError(float(np.sqrt(np.mean(known**2))), within, words)
    return errors


def _validated_errors(model: UsableModel) -> dict[str, UsualError]:
    """Of the validation before the checkpoint. Of several values that are measured together, none."""
    source, found = model.record.source, {}
    names = _value_names(model)
    for name in names:
        metrics = [f"val/{name}/{metric}" for metric in _METRICS] + [
            f"val/{metric}" for metric in _METRICS if len(names) == 1
        ]
        metric = next((metric for metric in metrics if metric in source.metrics), None)
        if metric is not None:
            what = _METRICS[metric.rpartition("/")[2]]
            words = f"± is the {what} of the validation samples at step {source.step:,}"
            found[name] = UsualError(source.metrics[metric], None, words)
    return found


def _value_names(model: UsableModel) -> list[str]:
    output = model.record.output
    if output.kind == "values":
        return list(model.record.classes)
    return [task.name for task in output.tasks if not task.classes]
