"""Of the samples, whatever kind of data they are."""

from __future__ import annotations

from training.findings.rule import Rule

OPENS = Rule("data.opens", "The data opens", "The samples of each part, counted.", "Read")
SAMPLED = Rule(
    "data.sampled",
    "Some of the samples were compared",
    "More samples than a check compares in some seconds: some are drawn by chance, the same each time.",
    "Counted",
)
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
FAR_TARGET, SMALL_TARGET = 10.0, 0.01
SCALE = Rule(
    "data.scale",
    "Inputs are badly scaled",
    "As the model gets them: all inputs are the same (error); or a channel or column has a mean beyond "
    f"{FAR_MEAN:g} std from 0 or a std above {WIDE_STD:g}, or the std of one is {UNLIKE_STDS:g} times that of another (warning). "
    f"Values to predict, which the loss takes in their own unit, have a mean or std above {FAR_TARGET:g}, or neither above {SMALL_TARGET:g} (a note, where the loss "
    "is a person's own).",
    "SageMaker Debugger (0.2) and TheDeepChecker, mended: not 'outside of -1 to 1', which every standardized input is",
    unless="What the program normalizes itself is well scaled, so that only the first is asked of it; columns of a table that are always 0, or codes, are not judged.",
    fix="dataset.normalize, objective.standardise",
)
OUTLIER_SHARE, GAP, FEWEST_NORMAL, LEAST_TARGETS = 0.5, 5.0, 20, 50
OUTLIERS = Rule(
    "data.outliers",
    "A few values decide the squared error",
    f"The loss is squared, and a twentieth of the training samples or fewer lie {GAP:g} times as far from the median as the next one, and make up {OUTLIER_SHARE:.0%} of "
    "the squared distances from it or more.",
    "Huber 1964; the gap tells mistakes from values that are merely spread over several powers of ten",
    unless=f"There are fewer than {LEAST_TARGETS} samples.",
    fix="objective.loss = l1: standardized by such values, all others are so near to each other that Huber's loss is squared there, too.",
)
MOSTLY_ONE = 0.5
MEDIAN = Rule(
    "loss.median",
    "The absolute error is lowest for one answer to all",
    f"objective.loss is l1, and {MOSTLY_ONE:.0%} or more of the values to predict are the same.",
    "The median is the constant with the lowest absolute error",
    unless=f"There are fewer than {LEAST_TARGETS} samples.",
    fix="objective.loss = mse",
)
LEAST_CONFLICTS = 0.01
ONE_IS_WRONG = "One of the two labels is wrong: correct it, or leave both samples out."
CONFLICTS = Rule(
    "data.conflicting_labels",
    "Equal samples have different labels",
    "Training samples, or most of the held-out ones that equal a training sample, with equal inputs and another class, other labels, values more than a std apart or masks that differ in 5 % of the pixels: "
    f"a note from one pair, a warning from {LEAST_CONFLICTS:.0%} of the samples.",
    "deepchecks (any)",
    unless="Images of one color, recordings of one number; rows of which many would still be equal, were each column shuffled among the rows of a class: there few columns simply do not tell more.",
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
MANY_CONSTANT = 0.5
MOSTLY_PADDING = 0.5
PADDING = Rule(
    "text.padding",
    "Most of what is computed is padding",
    f"More than {MOSTLY_PADDING:.0%} of the places in the lists of a ranking hold no item (a note).",
    "SageMaker Debugger (50 %)",
    unless="Texts are cut into windows of one length, so they have none.",
    fix="dataset.max_items",
)
SHRUNK, LOST_DETAIL, VERY_LITTLE, LITTLE = 4.0, 8.0, 16, 32
RESIZED = Rule(
    "data.images_shrunk",
    "Images are resized below what they show",
    f"The files' shorter side is {LOST_DETAIL:g} times that of dataset.image_size or more: a note; a warning, where {LITTLE} pixels or fewer are left, or "
    f"{VERY_LITTLE} of {SHRUNK:g} times as many.",
    "32 pixels are the least at which people tell the objects of photographs (Torralba et al. 2008)",
    fix="dataset.image_size",
)
AT_ONE_PIXEL = 2
TOO_SMALL = Rule(
    "data.images_too_small",
    "Images are too small for the network",
    f"{AT_ONE_PIXEL} convolutions wider than a pixel or more see features of one pixel, and padding around it.",
    "A forward pass; CIFAR's ResNets have no stride in the stem for this reason (He et al. 2016)",
    unless="The network is a person's own.",
    fix="Twice the dataset.image_size.",
)
RULES = (
    OPENS,
    SAMPLED,
    REMARK,
    SKIPPED,
    NONFINITE,
    SCALE,
    OUTLIERS,
    MEDIAN,
    CONFLICTS,
    IMBALANCE,
    PADDING,
    RESIZED,
    TOO_SMALL,
)
