"""Of a run that is complete, beside a simple model of the same samples."""

from __future__ import annotations

from training.findings.duration import FEW_STEPS
from training.findings.rule import Rule

LEFT, LEFT_OF_IMAGES, SURE, LEAST_HELD = 0.8, 0.5, 3.0, 60
BELOW = Rule(
    "fit.below_simple",
    "A simple model does far better",
    f"Once the run is complete: ridge regression (on random features of columns, on what patches of images are seen where), fitted to some of the training samples, has an "
    f"accuracy, F1 of labels or R² on validation samples that is higher by {SURE:g} standard errors than the best of all the run's validations, and of what it is better than guessing the "
    f"network has less than {LEFT:.0%} (of images {LEFT_OF_IMAGES:.0%}). What is proposed undoes the setting that is farthest from usual.",
    "Rules 1 and 4 of Zinkevich's Rules of Machine Learning, and Karpathy's recipe: a simple baseline first, to be beaten; what is usual is as of the other rules",
    unless=f"Fewer than {FEW_STEPS} steps were made; classes are weighed, or drawn alike; another finding above a note is told of the run already; fewer than {LEAST_HELD} samples are held out; samples are read from files while training.",
    fix="objective.kind, where the loss is a person's own; else of the learning rate, its schedule, the length of the run, the batch and each regularization the one that is "
    "farthest from usual.",
)
RULES = (BELOW,)
