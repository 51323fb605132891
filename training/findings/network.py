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

LOSS_BAND = 0.5
"""How far, as a share of the loss of guessing, a fresh model's may lie from that before it is worth a warning."""
START = Rule(
    "loss.start",
    "The first loss is not that of guessing",
    f"The loss of the first batch differs from that of guessing (ln of the number of classes) by more than {LOSS_BAND:.0%}.",
    "Karpathy's recipe; TheDeepChecker (100 %)",
)
NONFINITE = Rule(
    "loss.nonfinite",
    "The first loss is NaN or infinite",
    "The loss of the first batch is not finite.",
    "All tools agree",
)
RULES = (TINY_BATCH, CUT_BATCH, NOT_REPEATABLE, WEIGHTS, FROZEN, START, NONFINITE)
