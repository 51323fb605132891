"""What there is to say of classes and labels."""

from __future__ import annotations

from training.config import RunConfig
from training.config.sections.data.images import SegmentationDataset
from training.engine.session import Session
from training.events import Finding
from training.facts import DataFacts
from training.findings.data import IMBALANCE, UNEVEN, VERY_UNEVEN
from training.findings.labels import FEW_PAIRS, LABEL_RANGE, LONELY, NAMELESS
from training.findings.split import ABSENT

_NAMELESS = frozenset([
    "unlabelled", "unlabeled", "void", "ignore", "ignored", "unclassified", "undefined", "unknown", "dontcare", "don'tcare",
])  # fmt: skip
"""Names of no class, in small letters and without spaces."""


def mask_findings(session: Session) -> list[Finding]:
    """What masks lack, or should not be learned from."""
    return [*_absent_in_masks(session.data.facts), *_nameless(session)]


def class_findings(session: Session) -> list[Finding]:
    """What is uneven, absent or alone among the classes or labels."""
    return [*_classes(session), *_few_pairs(session)]


def _absent_in_masks(facts: DataFacts) -> list[Finding]:
    """Classes without a pixel to learn from: a class list may name them, and masks that were held out by chance."""
    absent = [name for name, count in zip(facts.names, facts.counts, strict=False) if not count]
    if not absent:
        return []
    title = f"No training pixel for: {', '.join(absent[:10])}."
    advice = "Add masks that show them, or take them out of the class list."
    return [LABEL_RANGE.find("warning", title, advice, evidence={"classes": [*absent]})]


def _nameless(session: Session) -> list[Finding]:
    """A class that stands for pixels nobody named, as lists of CamVid and Cityscapes have one: whether it is to be learned is for
    the person to say."""
    dataset, names = session.config.dataset, session.data.facts.names
    place = next((place for place, name in enumerate(names) if name.lower().replace(" ", "") in _NAMELESS), None)
    if place is None or not isinstance(dataset, SegmentationDataset) or dataset.ignore_index is not None:
        return []
    title = f"The class {names[place]} is learned and counted like any other, though its name says that it is none."
    advice = f"Set dataset.ignore_index to {place}, its place in the class list, to leave such pixels out."
    return [NAMELESS.find("warning", title, advice, fix={"dataset.ignore_index": place})]


def _few_pairs(session: Session) -> list[Finding]:
    """Batches that are compared within themselves, but mostly hold one sample of a class."""
    counts, size = session.data.report.counts["train"], session.config.loop.batch_size
    if not session.objective.compares_samples or session.objective.views > 1 or not sum(counts):
        return []
    present = [count for count in counts if count]
    if session.config.loader.sampling == "balanced":
        alone = (1.0 - 1.0 / len(present)) ** (size - 1)
    else:  # the chance that none of the others is of the same class, over all samples
        alone = sum(n / sum(present) * (1.0 - n / sum(present)) ** (size - 1) for n in present)
    if alone <= LONELY:
        return []
    title = (
        f"Only {1.0 - alone:.0%} of the samples would have another of their class in their batch to be compared with."
    )
    return [FEW_PAIRS.find("warning", title, "Take larger batches (loop.batch_size).", evidence={"alone": alone})]


def _classes(session: Session) -> list[Finding]:
    """What is uneven or absent among the classes or labels."""
    report, names = session.data.report, session.data.facts.names
    found = []
    trained = list(zip(names, report.counts["train"], strict=True))
    counts = {label: n for label, n in trained if n}
    absent = [label for label, n in trained if not n]
    if absent:
        title = f"No training sample for: {', '.join(absent[:10])}."
        found.append(LABEL_RANGE.find("warning", title, "Add some.", place="train", evidence={"classes": [*absent]}))
    if counts and max(counts.values()) > UNEVEN * min(counts.values()):
        rare, common = min(counts, key=lambda key: counts[key]), max(counts, key=lambda key: counts[key])
        found.append(_uneven((common, counts[common]), (rare, counts[rare]), session.config))
    missing = [label for label, n in zip(names, report.counts["validation"], strict=True) if not n]
    if missing:
        title = f"No validation sample for: {', '.join(missing[:10])}."
        advice = "How well these are learned cannot be measured."
        found.append(ABSENT.find("warning", title, advice, evidence={"classes": [*missing]}))
    return found


def _uneven(common: tuple[str, int], rare: tuple[str, int], config: RunConfig) -> Finding:
    """What makes up for it, or could."""
    title = f"The classes are uneven: {common[1]:,} of {common[0]}, {rare[1]:,} of {rare[0]}"
    objective = config.objective
    if config.loader.sampling == "balanced":
        return IMBALANCE.ok(f"{title}; loader.sampling draws them alike.")
    names = [name for name in ("balanced", "class_weights", "pos_weight") if getattr(objective, name, None)]
    if names:
        return IMBALANCE.ok(f"{title}; objective.{names[0]} makes up for that.")
    advice = "Accuracy will favor the common ones; gather more of the rare ones"
    can_weigh = hasattr(objective, "balanced")
    return IMBALANCE.find(
        "warning" if common[1] > VERY_UNEVEN * rare[1] else "info",
        f"{title}.",
        f"{advice}, or weigh them by objective.balanced." if can_weigh else f"{advice}.",
        evidence={"largest": common[1], "smallest": rare[1]},
        fix={"objective.balanced": True} if can_weigh else {},
    )
