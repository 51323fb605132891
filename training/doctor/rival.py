"""What a simple model of the same samples has of validation, beside the best of a run that is complete."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import JsonValue
from torch import Tensor

from training.diagnosis.recorded import Recorded, read_recorded
from training.doctor.samples.looked import Looked, look_at_samples
from training.doctor.suspects import suspect_setting
from training.engine.session import Session
from training.errors import InputError
from training.events import Finding
from training.findings.duration import FEW_STEPS
from training.findings.rival import BELOW, LEAST_HELD, LEFT, LEFT_OF_IMAGES, SURE
from training.metric_names import metric, title_of
from training.runs.folder import RunFolder

logger = logging.getLogger(__name__)

_METRICS = {"class": "accuracy", "labels": "f1", "values": "r2"}
_TRAINED, _HELD, _IMAGES = 1_500, 1_000, 600
_OF_SOME = 0.03
"""By how much the most frequent class of some held-out samples may have more than of all."""
_SHARP = 10.0
"""By which shares are multiplied to be logits."""


def judge_beside_simple(session: Session, folder: RunFolder) -> list[Finding]:
    """Of a run that is complete: a warning, where a simple model does better than the network ever did. A run never fails by this."""
    try:
        return _judge(session, folder)
    except Exception:
        logger.exception("The run could not be compared with a simple model")
        return []


def _judge(session: Session, folder: RunFolder) -> list[Finding]:
    data = session.data
    name = _METRICS.get(data.facts.target, "")
    task, counts = session.config.objective, session.config.loader.sampling != "balanced"
    counts = counts and not any(getattr(task, each, None) for each in ("balanced", "class_weights", "pos_weight"))
    if not counts or getattr(task, "threshold", 0.5) != 0.5:
        return []  # it is to do something else than to be right as often as it can
    if not name or name not in session.objective.metrics or data.report.batches.mode != "resident":
        return []
    try:
        run = read_recorded(folder)
    except (InputError, OSError):
        return []
    if run.step < FEW_STEPS or any(each.is_telling and each.cleared_at is None for each in run.findings):
        return []
    _, values = run.metric_values(f"val/{name}")
    values = values[np.isfinite(values)]
    if not len(values) or _is_beyond_reach(session, name, float(values.max())):
        return []
    few = _IMAGES if data.facts.layout == "image" else _TRAINED
    looked = look_at_samples(data, few, _HELD)
    if looked is None or len(looked.held) < LEAST_HELD:
        return []
    simple, best, count = _measure(looked, session, name), float(values.max()), len(looked.held)
    error = math.sqrt(sum(_variance(each) for each in (simple, best)) / count)
    usual = _guess(looked) if name == "accuracy" else 0.0
    left = LEFT_OF_IMAGES if looked.is_image else LEFT
    if simple - best < SURE * error or best - usual >= left * (simple - usual):
        return []
    return [_tell(run, name, simple, best)]


def _is_beyond_reach(session: Session, name: str, best: float) -> bool:
    """Whether not even a model that is always right would be so much better, so that none has to be made: as of most runs."""
    left = LEFT_OF_IMAGES if session.data.facts.layout == "image" else LEFT
    usual = 0.0
    if name == "accuracy":
        held = session.data.report.counts["validation"]
        usual = min(max(held) / max(sum(held), 1) + _OF_SOME, 1.0)
    return best - usual >= left * (1.0 - usual)


def _guess(looked: Looked) -> float:
    """The accuracy of always answering the most frequent class."""
    return float(np.bincount(looked.held_labels).max() / len(looked.held_labels))


def _variance(share: float) -> float:
    """Of one sample's part in a share of right answers; that of R², 4 R² (1 - R²)², is lower where it matters (Olkin and Finn 1995)."""
    share = min(max(share, 0.05), 0.95)
    return share * (1.0 - share)


def _measure(looked: Looked, session: Session, name: str) -> float:
    """What the simple model has of the metric, as the run measures it."""
    objective, source = session.objective, looked.data.source
    targets: NDArray[np.float32] = source.targets[looked.trained].numpy()
    held = source.targets[looked.held]
    answers = looked.model
    if answers is None:
        values = targets.astype(np.float32).reshape(len(targets), -1)
        mean, std = values.mean(0), values.std(0) + 1e-12
        made = looked.learn((values - mean) / std).answer(looked.as_numbers(looked.validation)) * std + mean
    else:
        made = answers.answer(looked.as_numbers(looked.validation))
    outputs = torch.from_numpy(np.ascontiguousarray(made, np.float32))
    if looked.data.facts.target == "values":
        if objective.spread is not None:
            mean_, std_ = (torch.tensor(each) for each in objective.spread)
            outputs = (outputs - mean_) / std_
    elif objective.outputs == 1 and outputs.shape[1] == 2:
        outputs = _SHARP * (outputs[:, 1:] - outputs[:, :1])
    else:
        outputs = _SHARP * (outputs - 0.5)
    return _score(outputs.to(session.device), held.to(session.device), session, name)


def _score(outputs: Tensor, targets: Tensor, session: Session, name: str) -> float:
    known = session.objective.metrics[name]
    return float(known.compute([(part,) for part in known.measure(outputs, targets)]))


def _tell(run: Recorded, name: str, simple: float, best: float) -> Finding:
    known, (words, fix) = metric(f"val/{name}"), suspect_setting(run)
    title = title_of(name)
    shown = title if title[1:2].isupper() or not title[1:2].isalpha() else title.lower()
    evidence: Mapping[str, JsonValue] = {"simple": simple, "best": best, "step": run.step}
    return BELOW.find(
        "warning",
        f"A simple model does better: its {shown} of validation samples is {known.show(simple)}, the network's was {known.show(best)} at best.",
        words,
        evidence=evidence,
        fix=fix,
        step=run.step,
    )
