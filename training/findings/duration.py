"""Of how long a run is: its steps, its batches, and what ends it early."""

from __future__ import annotations

from training.findings.rule import Rule

ADAPTIVE_TRAVEL, SGD_TRAVEL = 0.03, 1.0
"""The learning rates of all steps, added up: of optimizers whose steps are as large as the rate, and of SGD (over 1 - momentum)."""
FEW_STEPS, FEW_EPOCHS = 100, 2
AMPLE = 10.0
STEPS_OF_EPOCH = 10
LEAST_LARGE = 64
"""A smaller batch is never called too large."""

FEW_STEPS_RULE = Rule(
    "batch.too_large",
    "Batches are too large for so few samples",
    f"loop.batch_size is more than there are training samples; or the run has fewer than {FEW_STEPS} steps because an epoch has fewer than "
    f"{STEPS_OF_EPOCH} of them, of more than {LEAST_LARGE} samples each.",
    "Only steps change the weights; a wrong batch size is found by none of four published tools (Humbatova et al. 2025)",
    unless="The network begins with known weights (of the second).",
    fix="A batch size that makes about 20 steps of an epoch.",
)
SHORT = Rule(
    "run.too_short",
    "Too few steps to learn from",
    f"At most {FEW_EPOCHS} epochs with fewer than {FEW_STEPS} steps in all; or the learning rates of all steps add up to less than "
    f"{ADAPTIVE_TRAVEL:g} (optimizers like Adam, which move a weight by about the rate in a step) or {SGD_TRAVEL:g} (SGD, over 1 - momentum), "
    "though the rate is a usual one.",
    "The way that a weight can go, against the std of about 0.05 that it begins with (He et al. 2015); too few epochs are found by one of four "
    "published tools (Humbatova et al. 2025)",
    unless=f"The network begins with known weights; SGD follows a loss of one's own, or targets that are not standardized; or (of few steps) the rates add up to {AMPLE:g} times as much.",
    fix="loop.epochs or loop.max_steps: three times what the rule asks for.",
)
LEAST_BATCH, SMALL_BATCH, LEAST_SAMPLES = 2, 8, 100
SMALL = Rule(
    "batch.too_small",
    "Each step sees very few samples",
    f"A step (loop.batch_size times loop.accumulation) sees at most {LEAST_BATCH} of {LEAST_SAMPLES} training samples or more; fewer than "
    f"{SMALL_BATCH}: a note.",
    "The noise of a gradient falls with the root of the batch (Keskar et al. 2017 compare 0.1 % to 10 % of the data)",
    unless="Each sample holds many answers: pixels of a mask, tokens of a text, items of a query.",
    fix="loop.batch_size",
)
LEAST_PATIENCE, LEAST_COVERED = 2, 0.05
LARGE_DELTA, LARGE_LOSS_DELTA = 0.02, 0.1
STOPS = Rule(
    "stopping.in_noise",
    "Early stopping ends the run in the noise",
    f"loop.early_stopping_patience is 1; or it waits for less than {LEAST_COVERED:.0%} of the run's steps, by a patience of {LEAST_PATIENCE} or validations more often than once an epoch, or less than the warm-up; or only a gain of "
    f"{LARGE_DELTA:g} in a metric that is to grow (a loss: {LARGE_LOSS_DELTA:g}) at each validation counts as one; or loop.stopping_threshold is what always "
    f"guessing the largest class reaches. A patience of {LEAST_PATIENCE}: a note.",
    "Prechelt 1998, Early Stopping - But When?: a single rise of the validation error says nothing",
    fix="A patience of a quarter of the run, no least gain, no threshold.",
)
RULES = (FEW_STEPS_RULE, SHORT, SMALL, STOPS)
