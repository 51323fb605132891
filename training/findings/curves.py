"""Of a run's curves, while it trains."""

from __future__ import annotations

from training.findings.rule import Rule

LOST, ALL_LOST = 0.5, 1.0
SURE = 4.0
DIVERGED = Rule(
    "loss.diverged",
    "The loss diverged",
    f"The training loss rose again from its lowest level by more than {LOST:.0%} of what it had come down (warning), by {ALL_LOST:.0%} "
    f"or more (error), and by more than {SURE:g} standard errors.",
    "runmedic 0.1.1 (50 %, 100 %); the standard errors are ours",
    fix="A third of the learning rate.",
)
RULES = (DIVERGED,)
