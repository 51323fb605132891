"""What weights, updates and units of single layers tell."""

from __future__ import annotations

from training.findings.rule import Rule

GOOD, BIG, SMALL = -2.5, -1.0, -5.0
"""log10 of the size of an update beside that of the weights."""
FIRST_GOOD = -2.0
"""The same of the largest update, as a run begins."""
MOSTLY = 0.6
LITTLE_PROGRESS = 0.2
TOO_BIG = Rule(
    "update.too_big",
    "A step changes weights too much",
    f"The median layer's weights change by more than 10^{BIG:g} of their norm in more than {MOSTLY:.0%} of the records since warm-up.",
    "gradsnitch 0.1.0, TheDeepChecker (10^-1)",
    unless=f"The training loss has come down by {LITTLE_PROGRESS:.0%} or more and is not rising. Weights that begin at 0 do not count.",
    fix=f"The learning rate times 10^({GOOD:g} - the median).",
)
TOO_SMALL = Rule(
    "update.too_small",
    "A step changes weights too little",
    f"The median layer's weights change by less than 10^{SMALL:g} of their norm in more than {MOSTLY:.0%} of the records since warm-up, while the "
    "learning rate is at half its peak or more.",
    "gradsnitch 0.1.0, TheDeepChecker (10^-4)",
    unless=f"The training loss has come down by {LITTLE_PROGRESS:.0%} or more.",
    fix=f"The learning rate times 10^({GOOD:g} - the median).",
)
UNCHANGED_RECORDS = 3
UNCHANGED = Rule(
    "weight.unchanged",
    "Weights do not change",
    f"A layer's weights were changed by no step recorded so far, {UNCHANGED_RECORDS} or more, though the learning rate was above 0.",
    "SageMaker Debugger (UnchangedTensor); compared to the bit",
    unless="Layers are frozen by the settings, or the step was left out.",
)
MOST_DEAD = 0.5
DIED = 0.3
HALTING_PROGRESS = 0.4
DEAD = Rule(
    "units.dead",
    "Units are dead",
    f"More than {MOST_DEAD:.0%} of a layer's units pass no gradient on for 99 % of the samples (ReLU, GELU and the like).",
    "SageMaker Debugger (DeadRelu: 1 %, 50 %)",
    unless=f"The other half suffices, which is a note: the training loss has come down by {LITTLE_PROGRESS:.0%}, or by "
    f"{HALTING_PROGRESS:.0%} where {DIED:.0%} of the units or more died while training. A note, too, where they died at a rate that is not far too high by the settings or by the "
    "norms of updates.",
    fix="model.activation = gelu where they were dead from the first step on, else a lower learning rate: a tenth, or what makes the largest "
    f"update 10^{FIRST_GOOD:g} of the weights.",
)
SATURATED = Rule(
    "units.saturated",
    "Units are saturated",
    f"Of more than {MOST_DEAD:.0%} of a layer's units the tanh or sigmoid is less than a tenth as steep as in the middle, on average over samples.",
    "SageMaker Debugger, TheDeepChecker (50 % of the units); the slope is ours",
    unless="As of dead units.",
    fix="As of dead units, with model.activation = relu.",
)
RULES = (TOO_BIG, TOO_SMALL, UNCHANGED, DEAD, SATURATED)
