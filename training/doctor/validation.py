"""What validation cannot measure, whatever the model learns."""

from __future__ import annotations

import math

from torch import Tensor

from training.engine.session import Session
from training.events import Finding
from training.facts import DataFacts
from training.findings.split import UNMEASURABLE
from training.system.untrusted import escape_unprintable


def validation_findings(session: Session) -> list[Finding]:
    """Metrics that the validation samples cannot give."""
    data = session.data
    return _unmeasurable(data.facts, data.source.targets[data.splits["validation"]])


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
