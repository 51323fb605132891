"""Of a network that is to learn a few samples by heart."""

from __future__ import annotations

from training.findings.rule import Rule

SAMPLES, MOST_STEPS = 16, 300
LEARNED, LEFT_LOSS = 0.05, 0.01
FIT = Rule(
    "fit.one_batch",
    "The network does not learn a few samples by heart",
    f"After {MOST_STEPS} steps on {SAMPLES} training samples (of texts and masks fewer) without augmentation, dropout and weight decay "
    f"more than {LEARNED:.0%} are answered wrongly: of classes the samples, of labels, pixels and tokens each of them, of ranks the pairs, "
    "of embeddings those whose nearest neighbor is of another class; of values that share of their variance is left. Where nothing of that "
    f"can be counted, the loss is above {LEFT_LOSS:.0%} of the first.",
    "TheDeepChecker (16 samples, 5 %); Karpathy's recipe",
    unless="Asked for alone (Fit one batch, check --fit-one-batch). While the loss still falls it is a note.",
    fix="The one change with which the samples are learned: learning rate, optimizer, clipping, normalization, freezing.",
)
SURELY = 0.05
COMPARED, ALIKE = 100, 0.05
IGNORES = Rule(
    "fit.ignores_input",
    "The network answers without looking at its inputs",
    f"The loss of the last {COMPARED} steps is not lower than that of the same network given zeros for inputs "
    f"(Mann-Whitney, one-sided, p > {SURELY:g}), and its answers to the samples differ by less than {ALIKE:.0%} of their size.",
    "Karpathy's recipe; TheDeepChecker",
    unless="The samples were learned.",
)
RULES = (FIT, IGNORES)
