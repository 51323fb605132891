"""Of classes and labels."""

from __future__ import annotations

from training.findings.rule import Rule

LABEL_RANGE = Rule(
    "data.label_range",
    "A class has nothing to learn from",
    "A class, label or mask value without a training sample.",
    "deepchecks (new labels: 0)",
)
NAMELESS = Rule(
    "data.nameless_class",
    "A class is named as none",
    "A class of a mask that is called unlabeled, void, ignore or the like is learned like any other.",
    "The class lists of CamVid and Cityscapes",
    fix="dataset.ignore_index",
)
LONELY = 0.5
"""Share of samples without another of their class in their batch, from which it is worth a warning."""
FEW_PAIRS = Rule(
    "loss.few_pairs",
    "Batches hold too few of a class to compare",
    f"More than {LONELY:.0%} of the samples have no other of their class in their batch, where the loss compares samples.",
    "The chance of it, from the classes' shares",
)
RULES = (LABEL_RANGE, NAMELESS, FEW_PAIRS)
