"""Of the parts into which the samples are split."""

from __future__ import annotations

from training.findings.rule import Rule

DUPLICATES = Rule(
    "split.duplicates",
    "Held-out samples are trained on, too",
    "Any held-out sample whose content is that of a training sample.",
    "CleanVision (digests), deepchecks (0)",
    fix="dataset.duplicates = drop_from_validation",
)
MANY_ALIKE = 0.01
NEAR_DUPLICATES = Rule(
    "split.near_duplicates",
    "Held-out images look like training images",
    "Perceptual hashes of 64 bits that differ in few, confirmed by the correlation of the pixels: a note from one, a warning from "
    f"{MANY_ALIKE:.0%} of the held-out images.",
    "FiftyOne (leaky splits); thin digits look alike by chance, hence the share",
)
LEAST_GROUPS, LEAST_ROWS_OF_GROUP, ALIKE_IN_GROUP = 10, 2.0, 0.3
GROUP = Rule(
    "split.time_or_group",
    "Rows that belong together are in both parts",
    f"A column called after persons or things (patient, subject, user, session, group ...) with at least {LEAST_GROUPS} values of on average "
    f"{LEAST_ROWS_OF_GROUP:g} rows or more stands in both parts, and a row's target is predicted by the other rows of its value with a skill of "
    f"{ALIKE_IN_GROUP:g}. Rows with a date that are held out at random: a note.",
    "deepchecks (a group in both parts), with the likeness inside a group as guard",
    unless="dataset.group_column, time_column or split_column is set.",
    fix="dataset.group_column, dataset.time_column",
)

TELLING, DOUBTFUL_SAMPLES = 0.02, 14
"""The half-width of an interval that tells models apart; and the samples below which a metric says next to nothing."""
TINY = Rule(
    "validation.tiny",
    "Validation is too small to show a difference",
    f"The 95 % interval (Wilson) of an accuracy of 90 % is wider than ± {TELLING:.0%} (note); {DOUBTFUL_SAMPLES} samples or fewer (warning).",
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
RULES = (DUPLICATES, NEAR_DUPLICATES, GROUP, TINY, UNMEASURABLE, ABSENT)
