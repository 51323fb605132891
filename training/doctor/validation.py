"""What validation cannot measure, whatever the model learns."""

from __future__ import annotations

import math

from pydantic import JsonValue
from torch import Tensor

from training.config.sections.data.dataset_section import DatasetSection, PartsSection
from training.data import Data
from training.engine.session import Session
from training.errors import pluralize
from training.events import Finding
from training.facts import DataFacts
from training.findings.split import (
    DOUBTFUL_SAMPLES,
    FEW,
    FEW_OF_CLASS,
    HELD_SHARE,
    LOTTERY,
    TELLING,
    TINY,
    UNMEASURABLE,
)
from training.statistics.intervals import wilson
from training.system.untrusted import escape_unprintable

_LIKELY = 0.9
_USUAL = 0.2


def validation_findings(session: Session) -> list[Finding]:
    """Metrics that the validation samples cannot give, or only roughly."""
    data = session.data
    found = _unmeasurable(data.facts, data.source.targets[data.splits["validation"]])
    return [*found, *_tiny(data, session.config.dataset), *_few_of_class(data)]


def _half_width(count: int) -> float:
    """Of the 95 % interval of a share of 90 % of ``count`` samples."""
    interval = wilson(_LIKELY * count, count)
    return (interval.high - interval.low) / 2.0


def _few_of_class(data: Data) -> list[Finding]:
    """The class of which the fewest samples are held out, where that is few."""
    held = [(n, label) for label, n in zip(data.facts.names, data.report.counts["validation"], strict=False) if n]
    if data.facts.target != "class" or not held or min(held)[0] >= FEW_OF_CLASS:
        return []
    count, name = min(held)
    half, label = _half_width(count), escape_unprintable(name, 60)
    title = f"Validation has {pluralize(count, 'sample')} of the class {label}: a recall of {_LIKELY:.0%} is known to ± {100 * half:.0f} points."
    advice = "Hold out more, or read the recall of this class with that in mind."
    return [FEW.find("info", title, advice, place=label, evidence={"samples": count, "half_width": half})]


def _tiny(data: Data, dataset: DatasetSection) -> list[Finding]:
    """An accuracy of 90 %, because the interval of a better or worse one differs little."""
    count, classes = len(data.splits["validation"]), data.facts.target == "class"
    half = _half_width(count)
    few = count <= DOUBTFUL_SAMPLES
    spare = count < HELD_SHARE * (count + len(data.splits["train"]))
    lottery = spare and (few or (classes and half > LOTTERY))
    if data.facts.layout == "tokens" or not (few or (classes and half > TELLING)):
        return []
    title = f"Validation has {pluralize(count, 'sample')}"
    title += (
        f": an accuracy of {_LIKELY:.0%} is known to ± {100 * half:.0f} points, so smaller differences are chance."
        if classes
        else "."
    )
    fraction = dataset.validation_fraction
    fix: dict[str, JsonValue] = {}
    if lottery and "validation" in data.source.parts:
        fix = {"dataset.validation": "split"} if isinstance(dataset, PartsSection) else {}
    elif lottery and fraction < _USUAL:
        fix = {"dataset.validation_fraction": _USUAL}
    advice = (
        "Which checkpoint is best is drawn by chance: hold out more."
        if lottery
        else "Compare several seeds."
        if few
        else ""
    )
    evidence = {"samples": count, "half_width": half}
    return [TINY.find("warning" if lottery else "info", title, advice, evidence=evidence, fix=fix)]


def _unmeasurable(facts: DataFacts, targets: Tensor) -> list[Finding]:
    """What there is to say of ``targets``, those of the validation samples."""
    if facts.target == "ranks":
        return _of_ranks(targets)
    if facts.target != "values":
        return []
    same = [
        escape_unprintable(name, 60)
        for name, column in zip(facts.names, targets.unbind(1), strict=True)
        if bool((column == column[0]).all())
    ]
    if not same:
        return []
    title = (
        f"All validation samples have the same {', '.join(same[:10])}, so val/r2 and val/spearman cannot be measured."
    )
    return [UNMEASURABLE.find("warning", title, "Hold out more samples, or others.")]


def _of_ranks(targets: Tensor) -> list[Finding]:
    highest = targets.nan_to_num(nan=-math.inf).amax(1)
    lowest = targets.nan_to_num(nan=math.inf).amin(1)
    if not bool((highest > lowest).any()):
        title = "No validation query has two items of different rank, so the order cannot be judged."
        return [UNMEASURABLE.find("warning", title, "Hold out more queries, or others.")]
    if not bool((highest > 0).any()):
        title = "No validation item has a rank above 0, and those below count as 0: val/ndcg cannot be measured."
        advice = "Add a constant to all ranks, or let the best checkpoint be chosen by val/pair_accuracy."
        return [UNMEASURABLE.find("warning", title, advice, fix={"checkpoints.monitor": "val/pair_accuracy"})]
    return []
