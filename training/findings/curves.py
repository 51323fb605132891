"""Of a run's curves, while it trains and once it is complete."""

from __future__ import annotations

from training.findings.data import UNEVEN
from training.findings.duration import FEW_STEPS
from training.findings.rule import Rule

LOST, ALL_LOST, LEAST_LOST = 0.5, 1.0, 0.2
SURE, GONE, FAR_ABOVE = 4.0, 1000.0, 1.5
DIVERGED = Rule(
    "loss.diverged",
    "The loss diverged",
    f"The training loss rose again from its lowest level by more than {LOST:.0%} of what it had come down (warning), by {ALL_LOST:.0%} "
    f"or more (error), by {LEAST_LOST:.0%} of that level at least, and by more than {SURE:g} standard errors. Where the last ten losses are {GONE:,.0f} times that of the start, "
    "it is told at the first look.",
    "runmedic 0.1.1 (50 %, 100 %); the standard errors are ours",
    fix="A third of the learning rate, or the optimizer's usual one where that is lower still.",
)

FLAT_GAIN, SLOW_GAIN = 0.02, 0.1
FLAT_AFTER, SLOW_AFTER, LEAST_JUDGED, AHEAD = 0.25, 0.5, 30, 0.2
FLAT = Rule(
    "loss.flat",
    "The loss does not fall",
    f"Behind warm-up, {FLAT_AFTER:.0%} of the run and {LEAST_JUDGED} steps: the training loss lies less than {FLAT_GAIN:.0%} below that of "
    "guessing (the entropy of the classes' shares; where that is not known, the loss at the start), and its slope would not bring "
    f"{SLOW_GAIN:.0%} by the end, nor within {AHEAD:.0%} of the run. Or, behind {SLOW_AFTER:.0%} of the run, it has come down by less than {SLOW_GAIN:.0%} with a rate far below the "
    "usual one.",
    "runmedic 0.1.1 (2 %, ln k), gradsnitch 0.1.0 (the first 20 %, 30 steps)",
    unless="Published weights begin where there is little left to gain; validation explains more than 2 % of the variance.",
    fix="The learning rate, by what the settings and the norms of update and weights say: ten times more, a third, or the optimizer's usual one.",
)

LAST_PART, LITTLE, SAME_RATE = 0.3, 0.02, 0.01
PLATEAU = Rule(
    "loss.plateau",
    "The loss stands still at a constant rate",
    f"The last {LAST_PART:.0%} of the run so far, at a learning rate that changed by less than {SAME_RATE:.0%}, brought less than {LITTLE:.0%} of what the "
    "training loss has come down. A note.",
    "runmedic 0.1.1 (2 % in the last 30 %)",
    unless="Less than half of the run is over; the schedule lowers the rate by itself; the loss is nearly 0.",
    fix="schedule.kind = cosine",
)

REVERSALS, SWING = 6, 0.15
OSCILLATES = Rule(
    "loss.oscillates",
    "The loss swings up and down",
    f"The level of the training loss, over stretches of the run, turned {REVERSALS} times or more behind warm-up, each time by more than {SWING:.0%} of "
    f"what it has come down and by more than {SURE:g} standard errors.",
    "gradsnitch 0.1.0 (6 reversals); the size of a swing is ours",
    unless="The schedule restarts, so that the rate itself swings.",
    fix="As for loss.diverged.",
)

HIGH, ABOVE, OF_PROGRESS, MANY = 8.0, 3.0, 0.25, 3
SPIKE = Rule(
    "loss.spike",
    "The loss of single steps is far above the others",
    f"Behind warm-up, {MANY} steps or more: {HIGH:g} robust standard deviations and {ABOVE:g} times above the median of their stretch, and by more than "
    f"{OF_PROGRESS:.0%} of what the loss has come down, while the gradient norm is less than three times its median. A note.",
    "runmedic 0.1.1 (robust z 8; 3 spikes, or one of 3 times)",
    unless="A gradient norm as high explains it (grad.spike).",
    fix="objective.loss = huber, where it is the squared error.",
)

OVER_NOTE, OVER_WARNING = 0.05, 0.15
OVER_PROGRESS, FELL, LAST_OF = 0.1, 0.03, 3
OVERFITTED = Rule(
    "fit.over",
    "The network overfits",
    f"The mean validation loss of the last {LAST_OF} validations lies above the lowest such mean by {OVER_NOTE:.0%} of that (note), {OVER_WARNING:.0%} or more "
    f"(warning), by {OVER_PROGRESS:.0%} of what it had come down, and by 2 standard errors, while the training loss fell by {FELL:.0%} or more. The "
    "standard error is that of the samples' differences where predictions are kept; else by how validations scatter, and the lowest of n is expected "
    "to lie sqrt(2 ln n) standard errors low by chance alone.",
    "runmedic 0.1.1 (5 %, 15 %, 3 %); the paired test and the share of progress are ours",
    unless="No validation was better than guessing. A note where the monitored metric still improves by more than it scatters.",
    fix="loop.early_stopping_patience; dropout as well, where the network has many weights for each sample and nothing restrains them.",
)

FAR_BELOW, BELOW, OFTEN = 0.7, 0.9, 0.7
TOO_GOOD = Rule(
    "val.too_good",
    "Validation is better than training",
    f"Behind {SLOW_AFTER:.0%} of the run: the validation loss is below {BELOW:g} of the training loss in {OFTEN:.0%} of the validations of the second half (note), below {FAR_BELOW:g} (warning).",
    "runmedic 0.1.1 (0.9 in 70 %)",
    unless="Dropout, augmentation, label smoothing, averaged weights or mixing make training harder; the training loss falls by more than 5 % "
    "in an epoch; either is nearly 0. A note where the parts are made by groups or by time.",
)
LEAST_UNSURE, MOSTLY_RIGHT, STILL_SURER = 6, 0.6, 0.1
UNSURE, UNSURE_BY = 1.5, 0.1
NOISY_LABELS = Rule(
    "label.noisy",
    "Training labels are wrong more often than those of validation",
    f"Behind {SLOW_AFTER:.0%} of the run, of {LEAST_UNSURE} validations or more: of the last third the accuracy is {MOSTLY_RIGHT:.0%} or more, and the losses of validation and training are both {UNSURE:g} times that of answers that are as "
    f"sure as they are right, and {UNSURE_BY:g} more; in the second half the training loss came down by less than {STILL_SURER:.0%} of its way, and does not surely fall.",
    "A network that learns from labels of which a share is wrong becomes as unsure as that, and still right (Rolnick et al. 2017)",
    unless="Dropout, augmentation, label smoothing, averaged weights or mixing make training harder.",
)
FEW_POINTS = 0.01
NOISY = Rule(
    "val.noisy",
    "Validations scatter more than they improve",
    "Once the run is complete: the monitored share is known to no more than 2 points (its standard error), and the best validation lies less "
    "than that above the mean of the last third. A note.",
    "The binomial standard error",
)

LOW_RECALL, HIGH_RECALL, LOW_OF_RARE = 0.3, 0.9, 0.5
HARDLY_FOUND, SURELY_COUNTED = 0.25, 12
COLLAPSED = Rule(
    "classes.collapsed",
    "The network answers the same class to every sample",
    "Accuracy and F1 of a validation are those of one answer for all samples, in two looks in a row (warning). Once the run is complete: at the best validation "
    f"a class has a recall below {LOW_RECALL:g} while another has more than {HIGH_RECALL:g} (note; a warning below {HARDLY_FOUND:g}, of {SURELY_COUNTED} samples or more; or below {LOW_OF_RARE:g}, where another class has {UNEVEN:g} times as many and objective.balanced is off).",
    "TheDeepChecker (constant answers); SageMaker Debugger (0.7)",
    unless="The loss itself does not fall (loss.flat).",
    fix="objective.balanced, where the classes are uneven; of masks objective.loss = dice_cross_entropy.",
)

MIXED_UP = 0.8
MIXED = Rule(
    "label.mixed_up",
    "One class is taken for another",
    f"As of classes.collapsed in a warning, of a class of which no other has {UNEVEN / 2:g} times the samples, among three classes or more: {MIXED_UP:.0%} of its mistakes are for one "
    "other class.",
    "Confident learning (Northcutt et al. 2021): labels that are wrong are so from one class to another",
)

SKILL_AFTER, LEAST_VALIDATIONS, BY_HEART, TELLING = 0.5, 3, 0.3, 3.0
LITTLE_ACCURACY, LITTLE_LOSS, LITTLE_R2, LITTLE_AUROC = 0.25, 0.1, 0.1, 0.1
NO_SKILL = Rule(
    "fit.no_skill",
    "Validation is no better than guessing",
    f"Behind {SKILL_AFTER:.0%} of the run ({FLAT_AFTER:.0%}, where the training loss has come down by {BY_HEART:.0%}), or at its end, and after {LEAST_VALIDATIONS} "
    "validations: none of them was better than the most frequent class (accuracy), the classes' shares (loss), the mean (R²) or equal scores (AUROC) "
    "by more than chance. Of n samples and m validations chance is z = 1 + sqrt(2 ln m) standard errors, z²/2n of the loss, z²/n of R²; and the mean of the "
    "last half of them is not better by 2.",
    "Karpathy 2019 (A Recipe for Training Neural Networks: an input-independent baseline); the errors are those of n samples",
    unless=f"Fewer than {FEW_STEPS} steps were made; so few validation samples that {TELLING:g} standard errors are more than {LITTLE_ACCURACY:.0%} of what accuracy lacks, {LITTLE_LOSS:.0%} of the loss, {LITTLE_R2:g} of R² or "
    f"{LITTLE_AUROC:g} of AUROC; F1 or rank correlation are better than chance; the loss is about to come below guessing; one class is the only answer, as it has far more "
    "samples; the training loss does not fall either (loss.flat). Language models, masks, rankings and embeddings are not judged.",
)

LAST_STRETCH, STILL_FALLS, SURELY_FALLS, RATE_LEFT, FEW_EPOCHS, DONE = 0.5, 0.15, 3.0, 0.1, 3, 0.1
MOSTLY_DONE, STILL_GAINS, AT_ONCE = 0.3, 0.03, 0.2
TOO_EARLY = Rule(
    "run.ends_too_early",
    "The run ended while it still improved",
    f"Once all steps are done: the last {LAST_STRETCH:.0%} of them brought {STILL_FALLS:.0%} or more of all that the training loss came down, by more than "
    f"{SURELY_FALLS:g} standard errors, and the best validation is the last or the one before. A warning where the rate ended above {RATE_LEFT:.0%} of its peak, or the run "
    f"was of less than {FEW_EPOCHS} epochs; else a note. Or loop.stopping_threshold ended it in its first half, and the monitored share had gained {STILL_GAINS:.0%} since the "
    f"validation before, or at its first validation in the first {AT_ONCE:.0%}; or loop.early_stopping_patience did, the last half of its steps brought as much, and in it validation was better "
    "than before, and not worse each time since its best.",
    "Google's tuning playbook (still improving at the end); the shares are ours",
    unless=f"The loss has come to less than {DONE:.0%} of where it began. A note where it has come to less than {MOSTLY_DONE:.0%}, or the monitored share gained less than {FEW_POINTS:.0%} of all samples. Of a language model few epochs are usual.",
    fix="Three times the epochs; the optimizer's usual learning rate, where it is far below that; a patience of a quarter of the run.",
)
ORDERED = 0.5
BIASED = Rule(
    "fit.biased",
    "Answers are in the right order, and far off",
    f"Once the run is complete: none of {LEAST_VALIDATIONS} validations or more explains any of the variance (R² up to 0), and the last has a rank correlation of {ORDERED:g} or more.",
    "The mean has an R² of 0; ranks do not see a shift or a scale",
    unless="objective.loss is l1 or huber, which do not follow a few far values (a note).",
    fix="objective.kind = regression, where the loss is a person's own.",
)
LOW, LOW_BEFORE = 0.02, 0.6
LOWERED = Rule(
    "schedule.lowered",
    "A plateau was seen where there was none",
    f"Once the run is complete: schedule.kind is plateau, and came to {LOW:.0%} of the highest rate before {LOW_BEFORE:.0%} of the steps were done, though in the half before it first "
    f"lowered the rate the training loss fell, by {SURELY_FALLS:g} standard errors.",
    "ReduceLROnPlateau's own values wait for 10 validations and count any gain of 1e-4 (torch)",
    fix="schedule.kind = cosine",
)
LATE_PART = 0.5
TOO_LATE = Rule(
    "run.ends_too_late",
    "The run went on long after its best validation",
    f"Once the run is complete: the best validation came before {LATE_PART:.0%} of the steps, of ten validations or more, and the mean of the last third is worse by "
    "2 standard errors. A note.",
    "The second half of the time was for nothing",
    unless="fit.over tells more; early stopping is on; validation is tiny (validation.tiny), or no better than guessing.",
    fix="loop.early_stopping_patience",
)
RULES = (
    DIVERGED,
    FLAT,
    PLATEAU,
    OSCILLATES,
    SPIKE,
    OVERFITTED,
    TOO_GOOD,
    NOISY_LABELS,
    NOISY,
    NO_SKILL,
    COLLAPSED,
    MIXED,
    TOO_EARLY,
    TOO_LATE,
    BIASED,
    LOWERED,
)
