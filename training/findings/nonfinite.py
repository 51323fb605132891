"""Of numbers that are not finite while a run trains."""

from __future__ import annotations

from training.events import Finding
from training.findings.rule import Rule

GREW_NORM, GREW_LOSS, ROSE_RATE = 5.0, 3.0, 3.0
RECENT, BEFORE = 5, 200
"""Steps in front of one that was skipped: so many are held against the others."""

NONFINITE = Rule(
    "nonfinite",
    "Numbers became NaN or infinite",
    "The first step whose gradient is not finite (with fp16 the first that is skipped behind 3 others in a row), and the first validation "
    "whose loss is not. That step is computed again, operation by operation: the first of them whose inputs are finite and whose output "
    "is not is named with its module, in the backward pass the first that is given a finite gradient and hands on one that is not. "
    f"A learning rate too high is blamed where, just before, the gradient norm grew above {GREW_NORM:g} times or the loss above "
    f"{GREW_LOSS:g} times the median of the {BEFORE} steps before, or the rate was still rising above {ROSE_RATE:g} times its start.",
    "Asked of PyTorch (issue 182156); what comes before: runmedic 0.1.1",
    unless="What comes to nothing is not blamed: a mask of -inf that softmax turns into zeros, a branch that where leaves out.",
    fix="A tenth of the learning rate, loop.clip_norm, precision.compute or optimizer.eps, by what produced it; none where the line of a "
    "person's own code has to be changed.",
)
SKIPPED = Rule(
    "nonfinite.skipped",
    "Steps were skipped",
    "Any step left the weights alone because its gradient was not finite; told when the attempt ends.",
    "Counted",
)
ROLLED_BACK = Rule(
    "nonfinite.rolled_back",
    "The run went back to a checkpoint",
    "loop.max_skipped_steps steps in a row were skipped, and loop.after_skips is roll_back.",
    "Counted",
)


def can_trace(finding: Finding) -> bool:
    """Whether its step, computed again from a checkpoint, could tell more than the finding does: it was told after the weights had moved on."""
    return (
        finding.code == NONFINITE.code
        and finding.step > 0
        and finding.evidence.get("part") != "validation"
        and finding.evidence.get("exact") is not True
    )


RULES = (NONFINITE, SKIPPED, ROLLED_BACK)
