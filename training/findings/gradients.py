"""What the norms of gradients tell."""

from __future__ import annotations

from training.findings.rule import Rule

WINDOW = 50
"""Steps that say what is usual."""
SPIKE, SURE, HUGE, FEW_SPIKES = 8.0, 8.0, 30.0, 3
HARM, HARM_SHARE = 3.0, 0.05
"""By how much the loss has to rise after a spike: in standard deviations, and as a share of the loss that the run began with."""
GRADIENT_SPIKE = Rule(
    "grad.spike",
    "The gradient norm jumps",
    f"Gradient norms above {SPIKE:g} times the median of the {WINDOW} steps before and {SURE:g} robust standard deviations, after which the loss "
    f"is higher for a while; {FEW_SPIKES} of them, or one of {HUGE:g} times.",
    "gradsnitch 0.1.0 (8 times), runmedic 0.1.1 (3 of them, robust z of 8); the loss is ours",
    unless=f"The loss of the 20 steps behind is not above that of the 20 steps before by {HARM:g} standard deviations and {HARM_SHARE:.0%} of the "
    "first loss.",
    fix="loop.clip_norm = the 90th percentile of the norms; where that is the limit already, a third of the learning rate.",
)

CLIPPED, LOOKED_AT = 0.5, 200
TIGHT = 0.1
CLIPPED_ALWAYS = Rule(
    "grad.clipped_always",
    "Most gradients are clipped",
    f"More than {CLIPPED:.0%} of the last {LOOKED_AT} gradients were clipped (a note); warning where the limit is below {TIGHT:.0%} of the "
    "median norm, the optimizer is SGD and the training loss has come down by less than a fifth.",
    "Google's Tuning Playbook (50 %)",
    unless="Of optimizers that divide by the size of the gradient (Adam and its kin, Muon) only a note: it changes little of their steps.",
    fix="loop.clip_norm = the 90th percentile of the norms.",
)
NEVER, UNUSED = 1000, 2.0
NEVER_CLIPPED = Rule(
    "grad.never_clipped",
    "The limit of the gradient norm is never reached",
    f"loop.clip_norm is another than the default, and none of the last {NEVER:,} gradients came to half of it (a note).",
    "Google's Tuning Playbook (the 90th percentile)",
    fix="loop.clip_norm = the 90th percentile of the norms.",
)

FADED, TINY, LITTLE_PROGRESS = 1e-3, 1e-4, 0.2
VANISHING = Rule(
    "grad.vanishing",
    "Gradients vanish on their way to the first layers",
    f"The gradient norm of the first layer is below {FADED:g} of the last one's and below {TINY:g}, in the median of the last three records.",
    "AutoTrainer; the loss is gradsnitch's guard",
    unless=f"The training loss has come down by {LITTLE_PROGRESS:.0%} or more.",
    fix="model.activation = relu where it saturates, else model.norm where there is none; a lower learning rate where gradients came to the "
    "first layer at first.",
)
RULES = (GRADIENT_SPIKE, CLIPPED_ALWAYS, NEVER_CLIPPED, VANISHING)
