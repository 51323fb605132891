"""Of the parts into which the samples are split."""

from __future__ import annotations

from training.findings.rule import Rule

FEW_COPIES = 0.01
DUPLICATES = Rule(
    "split.duplicates",
    "Held-out samples are trained on, too",
    f"Held-out samples whose content is that of a training sample; a note, where they are fewer than {FEW_COPIES:.0%}.",
    "CleanVision (digests), deepchecks (0)",
    unless="Images of one color, recordings of one number. A note of rows of which many would still be equal, were each column shuffled among the rows of a class.",
    fix="dataset.duplicates = drop_from_validation; dataset.validation = split, where all of the validation part is trained on.",
)
MANY_ALIKE = 0.01
NEAR_DUPLICATES = Rule(
    "split.near_duplicates",
    "Held-out images look like training images",
    "Perceptual hashes of 64 bits that differ in few, confirmed by the correlation of the pixels: a note from one, a warning from "
    f"{MANY_ALIKE:.0%} of the held-out images.",
    "FiftyOne (leaky splits); thin digits look alike by chance, hence the share",
)
LEAST_GROUPS, LEAST_ROWS_OF_GROUP, ALIKE_IN_GROUP, ALIKE_IN_TIME, MANY_TIMES = 10, 2.0, 0.3, 0.4, 60
NEIGHBORS, TIMES_CHANCE = 0.4, 10.0
GROUP = Rule(
    "split.time_or_group",
    "Rows that belong together are in both parts",
    f"A column called after persons or things (patient, subject, user, session, group ...) with at least {LEAST_GROUPS} values of on average "
    f"{LEAST_ROWS_OF_GROUP:g} rows or more stands in both parts, and a row's target is predicted by the other rows of its value with a skill of "
    f"{ALIKE_IN_GROUP:g}, whether it is a feature or not; or a column of any name that is no feature, if of {NEIGHBORS:.0%} of the rows the one that is most like them, by all numbers, has "
    f"the same value, {TIMES_CHANCE:g} times as often as by chance. Rows with a date that are held out at random: a note; a warning, where the targets "
    f"(numbers, or two classes; their means, where several rows have one time) that follow each other have a rank correlation of {ALIKE_IN_TIME:g}; as much of a column of "
    f"whole numbers that is called day, week, year or the like, if there are {MANY_TIMES} different ones.",
    "deepchecks (a group in both parts), with the likeness inside a group as guard",
    unless="dataset.group_column, time_column or split_column is set.",
    fix="dataset.group_column, dataset.time_column",
)

TELLING, LOTTERY, DOUBTFUL_SAMPLES, HELD_SHARE = 0.02, 0.1, 14, 0.12
"""The half-width of an interval that tells models apart, and that with which the best checkpoint is drawn by chance; the samples below which a
metric says next to nothing; the share that can usually be spared."""
TINY = Rule(
    "validation.tiny",
    "Validation is too small to show a difference",
    f"The 95 % interval (Wilson) of an accuracy of 90 % is wider than ± {TELLING:.0%} (note). A warning, where it is wider than "
    f"± {LOTTERY:.0%}, or there are {DOUBTFUL_SAMPLES} samples or fewer, and more could be held out: less than {HELD_SHARE:.0%} are.",
    "Wilson 1927; missing validation is found by none of four published tools (Humbatova et al. 2025)",
    fix="dataset.validation_fraction",
)
UNMEASURABLE = Rule(
    "validation.unmeasurable",
    "A metric cannot be measured",
    "All validation samples have the same value, or no query has items of different rank.",
    "The metric's formula",
)
ABSENT = Rule(
    "validation.absent_class",
    "Validation lacks a class",
    "A class or label without a validation sample.",
    "deepchecks",
)
FEW_OF_CLASS = 20
FEW = Rule(
    "validation.few_of_class",
    "Validation has few samples of a class",
    f"The rarest class that validation has is there in fewer than {FEW_OF_CLASS} samples: a note with the 95 % interval (Wilson) of a recall of 90 %.",
    "Wilson 1927; deepchecks",
    unless="No validation sample has a class of its own (masks, texts, values).",
)
APART, APART_IMAGES, APART_SPREAD, SURE = 2.0, 3.0, 4.0, 8.0
LEAST_SKILL, UNLIKE_LABELS, LEAST_HELD = 0.4, 0.4, 30
UNLIKE = Rule(
    "data.parts_differ",
    "Training and validation samples are not of one kind",
    f"A column, or of images the brightness or contrast of a channel, the sharpness or the color, has means that lie {APART:g} of its std apart in the two parts (of images "
    f"{APART_IMAGES:g}; a note from half of that), or "
    f"a column's middle half is {APART_SPREAD:g} times as wide in one of them by {SURE:g} standard errors or more. Or a simple "
    f"model (ridge regression on random features), which is better than guessing by {LEAST_SKILL:.0%} on training samples that it did not see, keeps at most "
    f"{UNLIKE_LABELS:.0%} of that on those held out.",
    "Standardized mean difference (Cohen 1988: 0.8 is large); cleanlab and deepchecks (a simple model as reference)",
    unless=f"The parts are made by groups or by time, or fewer than {LEAST_HELD} samples are held out.",
)
RULES = (DUPLICATES, NEAR_DUPLICATES, GROUP, UNLIKE, TINY, UNMEASURABLE, ABSENT, FEW)
