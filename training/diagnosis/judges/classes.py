"""What a network answers, class by class."""

from __future__ import annotations

import math
from collections.abc import Iterator

from training.diagnosis.recorded import Recorded
from training.events import Finding
from training.findings import curves as rules
from training.findings.data import UNEVEN

_ROUNDING = 1e-6


def judge_collapsed(run: Recorded) -> Iterator[Finding]:
    """All samples get the same answer. With C classes and a share p of the samples of that answer, accuracy is p and the mean F1 of the
    classes is 2p / (1 + p) / C: no other answers give both, but by chance."""
    if run.step < rules.FLAT_AFTER * run.total_steps or not _answers_one_class(run):
        return
    metrics, uneven = run.validations[-1].metrics, _measure_unevenness(run)
    accuracy, imbalanced = metrics["val/accuracy"], uneven >= UNEVEN / 2
    yield rules.COLLAPSED.find(
        "warning",
        f"The network answers the same class to every validation sample: its accuracy, {accuracy:.2%}, is that class's share.",
        f"The largest class has {uneven:.0f} times the samples of the smallest: let the classes count alike."
        if imbalanced
        else "It has not begun to tell the classes apart: look at the learning rate, and at what the loss does.",
        evidence={
            **({"cause": "class imbalance"} if imbalanced else {}),
            "accuracy": accuracy,
            "f1": metrics["val/f1"],
            "largest_to_smallest": uneven,
        },
        fix={"objective.balanced": True} if imbalanced and not getattr(run.config.objective, "balanced", False) else {},
        since=run.validations[-1].step,
    )


def _answers_one_class(run: Recorded) -> bool:
    """Whether the newest validation has but one answer."""
    if run.config.objective.kind != "classification" or run.data is None or not run.validations:
        return False
    metrics, classes = run.validations[-1].metrics, run.data.class_count
    accuracy, f1 = metrics.get("val/accuracy", math.nan), metrics.get("val/f1", math.nan)
    return classes >= 2 and accuracy < 1 and abs(f1 - 2 * accuracy / (1 + accuracy) / classes) < _ROUNDING


def _measure_unevenness(run: Recorded) -> float:
    """How many times the samples of its smallest class the largest has."""
    counts = [count for count in (run.data.counts.get("train", ()) if run.data else ()) if count]
    return max(counts) / min(counts) if counts else 1.0


def is_one_class_of_many(run: Recorded) -> bool:
    """Whether all answers are the same, as one class has far more samples than another."""
    return _answers_one_class(run) and _measure_unevenness(run) >= UNEVEN / 2


JUDGES = (judge_collapsed,)
