"""One file for each family. A judge is a pure function of what was recorded up to ``run.step``, NumPy alone and no clock: it gives
each finding of its own that holds now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from training.diagnosis.judges import classes, curves, ending, gradients, layers, machine, units, validations
from training.diagnosis.recorded import Recorded
from training.events import Finding
from training.findings import FAMILIES

Judge = Callable[[Recorded], Iterable[Finding]]

JUDGES: Final[tuple[Judge, ...]] = (
    *curves.JUDGES,
    *validations.JUDGES,
    *classes.JUDGES,
    *gradients.JUDGES,
    *layers.JUDGES,
    *units.JUDGES,
    *machine.JUDGES,
)
AT_END: Final[tuple[Judge, ...]] = ending.AT_END
"""Asked once, of a run that completed."""

_JUDGED = ("Curves", "Gradients", "Layers", "Machine, judged while training")
CODES: Final = frozenset(rule.code for family in _JUDGED for rule in FAMILIES[family])
"""What judges find; all else among a run's findings was told by others."""

IN_WARMUP: Final = frozenset({"loss.diverged"})
"""What is judged in warm-up, too."""

FOLDED: Final[Mapping[str, tuple[str, ...]]] = {
    "loss.diverged": (
        *("loss.oscillates", "loss.plateau", "loss.spike", "loss.flat"),
        *("fit.over", "classes.collapsed", "run.ends_too_early", "run.ends_too_late", "val.noisy"),
    ),
    "loss.flat": ("loss.plateau", "classes.collapsed", "run.ends_too_early", "run.ends_too_late", "val.noisy"),
    "loss.oscillates": ("loss.plateau", "loss.spike", "run.ends_too_early", "run.ends_too_late", "val.noisy"),
    "fit.over": ("loss.plateau", "run.ends_too_late", "val.noisy"),
    "run.ends_too_late": ("val.noisy",),
    "machine.waits": ("machine.slows",),
    "grad.spike": ("loss.spike",),
    "grad.vanishing": ("loss.flat", "update.too_small", "weight.unchanged"),
    "update.too_big": (
        "grad.spike",
        "loss.spike",
        "loss.flat",
        "loss.oscillates",
        "units.dead",
        "units.saturated",
        "weight.unchanged",
    ),
    "update.too_small": ("loss.flat", "loss.plateau"),
    "units.dead": ("weight.unchanged", "grad.vanishing", "loss.flat", "classes.collapsed"),
    "units.saturated": ("grad.vanishing", "loss.flat"),
    "grad.clipped_always": ("update.too_small", "loss.flat", "loss.plateau"),
    "model.not_trained": ("weight.unchanged",),
}
"""By the code of a cause, those of the symptoms that it explains."""
