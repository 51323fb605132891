"""Of the network, its weights and its first loss."""

from __future__ import annotations

from training.findings.rule import Rule

FEW = 8
"""Samples in a batch below which its mean and std say little of all samples'."""
TINY_BATCH = Rule(
    "norm.tiny_batch",
    "Batch norm sees few samples",
    f"Batch norm with batches of fewer than {FEW}.",
    "torch refuses 1; group normalization (Wu and He 2018)",
    unless="Frozen batch norm goes by the statistics it has.",
    fix="model.norm = group",
)
CUT_BATCH = Rule(
    "norm.accumulation",
    "Batch norm sees a part of each step",
    "Batch norm with loop.accumulation above 1.",
    "Its statistics are those of a forward pass",
    fix="model.norm = group",
)
NOT_REPEATABLE = Rule(
    "model.not_repeatable",
    "The network is another each time it is built",
    "A person's own network, built twice from one seed, has other weights.",
    "Compared to the bit",
)
WEIGHTS = Rule("model.weights", "The weights that the network begins with", "What was taken of them.", "Read")
FROZEN = Rule(
    "model.frozen_at_random",
    "Random weights are frozen",
    "optimizer.freeze is set, and the network begins with no known weights.",
    "What is frozen learns nothing",
)

LOSS_BAND, LOSS_FAR, LOSS_EXTREME, FAR_ERRORS = 0.5, 4.0, 10.0, 3.0
"""How far, as a share of the loss of guessing, a fresh model's may lie from that before it is worth a note, a warning, and an error; and how
many standard errors of some batches."""
START = Rule(
    "loss.start",
    "The first loss is not that of guessing",
    "The mean loss of up to four batches, by the initial weights, differs from that of answers of 0 (ln of the number of classes, ln 2 of labels, "
    f"the mean square of values) by more than {LOSS_BAND:.0%} and {FAR_ERRORS:g} standard errors: a note, a warning above {LOSS_FAR:.0%} or where it is lower, an error above "
    f"{LOSS_EXTREME:.0%}. It may be as low as that of the best answer that is the same to all.",
    "Karpathy's recipe; TheDeepChecker (100 %)",
    unless="Known weights; embeddings; a person's own loss. A note of outputs that are bounded, since they compare directions.",
    fix="dataset.normalize",
)
NONFINITE = Rule(
    "loss.nonfinite",
    "The first loss is NaN or infinite",
    "The loss of the first batch is not finite; computed once more under watch, so that the module and the operation are told.",
    "All tools agree",
)
RULES = (TINY_BATCH, CUT_BATCH, NOT_REPEATABLE, WEIGHTS, FROZEN, START, NONFINITE)
