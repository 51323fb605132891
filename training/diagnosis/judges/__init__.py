"""One file for each family. A judge is a pure function of what was recorded up to ``run.step``, NumPy alone and no clock: it gives
each finding of its own that holds now."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from training.diagnosis.judges import (
    classes,
    curves,
    cut_short,
    ending,
    gradients,
    layers,
    machine,
    skill,
    units,
    validations,
)
from training.diagnosis.recorded import Recorded
from training.events import Finding
from training.findings import FAMILIES

Judge = Callable[[Recorded], Iterable[Finding]]

JUDGES: Final[tuple[Judge, ...]] = (
    *curves.JUDGES,
    *validations.JUDGES,
    *skill.JUDGES,
    *classes.JUDGES,
    *gradients.JUDGES,
    *layers.JUDGES,
    *units.JUDGES,
    *machine.JUDGES,
)
AT_END: Final[tuple[Judge, ...]] = (*ending.AT_END, *cut_short.AT_END, *skill.AT_END)
"""Asked once, of a run that completed."""
AT_ANY_END: Final[tuple[Judge, ...]] = (cut_short.judge_content,)
"""Those of them that are asked of a run that ended in its warm-up, too."""

_JUDGED = ("Curves", "Gradients", "Layers", "Machine, judged while training")
CODES: Final = frozenset(rule.code for family in _JUDGED for rule in FAMILIES[family])
"""What judges find; all else among a run's findings was told by others."""

IN_WARMUP: Final = frozenset({"loss.diverged"})
"""What is judged in warm-up, too."""
