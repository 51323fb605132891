"""Of the samples, whatever kind of data they are."""

from __future__ import annotations

from training.findings.rule import Rule

OPENS = Rule("data.opens", "The data opens", "The samples of each part, counted.", "Read")
REMARK = Rule("data.remark", "How the data is used", "What was decided where no setting says it.", "Read")
SKIPPED = Rule("data.skipped", "Files were left out", "Any file that could not be read.", "Read")

NONFINITE = Rule(
    "data.nonfinite",
    "A sample holds NaN or infinity",
    "Any number among the inputs or the values to predict that is infinite or too large for float32, and any value to predict that is missing.",
    "All tools agree",
    unless="A missing number among the inputs becomes the mean of its column.",
)

FAR_MEAN, WIDE_STD, UNLIKE_STDS = 3.0, 10.0, 100.0
SCALE = Rule(
    "data.scale",
    "Inputs are badly scaled",
    "As the model gets them: all inputs are the same (error); or a channel or column has a mean beyond "
    f"{FAR_MEAN:g} std from 0 or a std above {WIDE_STD:g}, or the std of one is {UNLIKE_STDS:g} times that of another (warning).",
    "SageMaker Debugger (0.2) and TheDeepChecker, mended: not 'outside of -1 to 1', which every standardized input is",
    unless="What the program normalizes itself is well scaled, so that only the first is asked of it; columns of a table that are always 0, or codes, are not judged.",
)
LEAST_CONFLICTS, SURELY_CONFLICTS = 0.01, 0.05
MOSTLY_DIFFERENT = 0.9
CONFLICTS = Rule(
    "data.conflicting_labels",
    "Equal samples have different labels",
    f"Training samples with equal inputs and another class: a note from one pair, a warning from {LEAST_CONFLICTS:.0%} of the samples.",
    "deepchecks (any)",
    unless=f"Of tables, where less than {MOSTLY_DIFFERENT:.0%} of the rows differ from each other in their inputs: there few columns "
    "simply do not tell more.",
)

UNEVEN, VERY_UNEVEN = 10.0, 20.0
IMBALANCE = Rule(
    "data.imbalance",
    "The classes are uneven",
    f"The largest class has more than {UNEVEN:g} times the samples of the smallest (note), more than {VERY_UNEVEN:g} times (warning).",
    "SageMaker Debugger (10), deepchecks (0.1)",
    unless="loader.sampling or a weight of the objective makes up for it.",
    fix="objective.balanced",
)
RULES = (OPENS, REMARK, SKIPPED, NONFINITE, SCALE, CONFLICTS, IMBALANCE)
