"""Of classes and labels."""

from __future__ import annotations

from training.findings.rule import Rule

LABEL_RANGE = Rule(
    "data.label_range",
    "A class has nothing to learn from",
    "A class, label or mask value without a training sample: an error, where held-out samples have it; or a number that is no class or label.",
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
LEAST_LABELS, SOME_WRONG, MOST_WRONG, PLATEAU = 300, 0.07, 0.6, 0.8
MANY_WRONG, MUCH_KNOWN, WELL_KNOWN = 0.25, 0.18, 0.35
RANDOM_LESS, STILL_LEARNS = 8, 0.05
FAR_APART, FAR_SHARE, LEAST_FAR, SOME_SKILL, AGAINST_EXPECTED = 4.0, 0.015, 12, 0.2, -0.4
SUSPECT = Rule(
    "label.suspect",
    "Labels seem to be wrong",
    f"A simple model (ridge regression, four folds; on random features, of images on what patches of them are seen where) disagrees with {SOME_WRONG:.0%} to {MOST_WRONG:.0%} of the labels among the fifth of "
    f"which it is surest, and hardly less often where it is surer still: in the first tenth {PLATEAU:.0%} as often as in the first "
    f"four, or by less than a standard error below that, where the model makes {WELL_KNOWN:.0%} fewer mistakes than guessing. A note; a warning, where it is so of {MANY_WRONG:.0%} or more, and the model makes {MUCH_KNOWN:.0%} fewer mistakes "
    "than guessing: where inputs tell little, it errs nearly as often where it is surest. Of numbers: "
    f"{FAR_SHARE:.1%} lie {FAR_APART:g} robust standard deviations or more from what that model expects, which explains {SOME_SKILL:.0%} of the variance at least, and the correlation of those with it is "
    f"below {AGAINST_EXPECTED:g}, as noise of any size would not make it.",
    "A model's own errors become rare where it is sure, wrong labels do not (confident learning, Northcutt et al. 2021)",
    unless=f"There are fewer than {LEAST_LABELS} samples, or the model learns too little of them. A note, where with an eighth of its random features it is wrong of {STILL_LEARNS:.0%} of the samples more: then it is too simple itself.",
)
SHIFT_GAIN = 0.2
SHIFTED = Rule(
    "label.shifted",
    "Labels belong to the sample beside",
    f"The same simple model is right more often by {SHIFT_GAIN:.0%} of the samples, where each has the label of the one before or behind it.",
    "Tried",
    unless="Neighbors mostly have the same label.",
)
LEAST_RENAMED, MOST_RENAMED, STILL_NAMED = 10, 0.5, 0.5
RENAMED = Rule(
    "label.renamed",
    "Classes have other names from some sample on",
    f"The same simple model, fitted to the first third of the training samples in the order of the data, takes {MOST_RENAMED:.0%} or more of a class of the last third for one other, though it finds {STILL_NAMED:.0%} "
    f"of the class among the first; and so it is of that other class, until each has the name of another. Of classes with {LEAST_RENAMED} samples in either third.",
    "Tried; labels that are wrong are so from one class to another (confident learning, Northcutt et al. 2021)",
    unless=f"There are fewer than {LEAST_LABELS} samples, or one class alone became like another.",
)
LEAST_RIGHT, LOST_RIGHT, LOST_OF_NAMED, SAME_OTHER, LEAST_TURNED = 0.6, 0.65, 0.8, 0.5, 10
LEAST_CROP, LEFT_OF_VARIED, LEFT_OF_STRONG, LEAST_KNOWN = 8, 0.5, 0.75, 0.3
STRONG_JITTER = 0.8
CHANGES_LABEL = Rule(
    "augment.changes_label",
    "An augmentation changes what images show",
    f"dataset.flip, vertical_flip, a rotation from 135 degrees or a hue from 0.3 is on, and the same simple model, right of {LEAST_RIGHT:.0%} of the images or more, "
    f"keeps at most {LOST_RIGHT:.0%} of that on images that are changed so, most of those of a class being taken for one other class; or {LOST_OF_NAMED:.0%}, where "
    f"classes are called by digits, letters or directions. Or the smallest crops of dataset.resized_crop_scale have fewer than {LEAST_CROP} pixels a side. Or that model, where it is right in {LEAST_KNOWN:.0%} more of the images than guessing, once it learned from images as the run varies them, has {LEFT_OF_VARIED:.0%} or less of the skill on "
    f"images as they are that it has without ({LEFT_OF_STRONG:.0%}, where brightness, contrast or saturation change by more than {STRONG_JITTER:.0%}, SimCLR's largest).",
    "torchvision's and AutoAugment's own settings for digits leave flips out; TheDeepChecker (a network with and without augmentation should see alike)",
    fix="That augmentation off, or all where no single one helps; crops of half of the area.",
)
AGAINST, TIMES_WORSE = 4.0, 2.0
WEIGHTS = Rule(
    "loss.class_weights",
    "Class weights go against the counts",
    f"With objective.class_weights or pos_weight the heaviest class counts {AGAINST:g} times as much as the lightest or more, and {TIMES_WORSE:g} times as unevenly as "
    "the samples do by themselves.",
    "Weights make up for counts: n / (classes x count), as scikit-learn's balanced",
    fix="No weights; objective.balanced where the classes are uneven.",
)
RULES = (LABEL_RANGE, NAMELESS, FEW_PAIRS, SUSPECT, SHIFTED, RENAMED, CHANGES_LABEL, WEIGHTS)
