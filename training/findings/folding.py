"""Which finding explains which others, so that of one cause one is told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from training.events import Finding
from training.findings.nonfinite import NONFINITE
from training.findings.settings import UNUSUAL_RATE

FOLDED: Final[Mapping[str, tuple[str, ...]]] = {
    "nonfinite": ("units.dead", "units.saturated", "grad.spike", "loss.spike", "loss.diverged", "fit.no_skill"),
    "loss.diverged": (
        *("loss.oscillates", "loss.plateau", "loss.spike", "loss.flat", "fit.no_skill"),
        *("fit.over", "classes.collapsed", "label.mixed_up", "run.ends_too_early", "run.ends_too_late", "val.noisy"),
    ),
    "loss.flat": (
        *("loss.plateau", "fit.no_skill", "classes.collapsed"),
        *("run.ends_too_early", "run.ends_too_late", "val.noisy"),
    ),
    "loss.oscillates": (
        *("loss.plateau", "loss.spike", "fit.no_skill"),
        *("run.ends_too_early", "run.ends_too_late", "val.noisy"),
    ),
    "fit.no_skill": (
        *("fit.over", "loss.plateau", "classes.collapsed"),
        *("run.ends_too_early", "run.ends_too_late", "val.noisy"),
    ),
    "fit.over": ("loss.plateau", "run.ends_too_late", "val.noisy"),
    "run.ends_too_late": ("val.noisy",),
    "validation.tiny": (
        *("run.ends_too_late", "val.noisy", "val.too_good"),
        *("validation.absent_class", "validation.few_of_class"),
    ),
    "label.shifted": ("fit.no_skill",),
    "run.too_short": ("fit.no_skill", "run.ends_too_early", "classes.collapsed"),
    "run.ends_too_early": ("classes.collapsed",),
    "label.suspect": ("fit.no_skill",),
    "machine.waits": ("machine.slows",),
    "grad.spike": ("loss.spike",),
    "label.noisy": ("val.too_good", "fit.over", "loss.flat", "loss.plateau"),
    "grad.vanishing": ("loss.flat", "fit.no_skill", "update.too_small", "weight.unchanged", "classes.collapsed"),
    "update.too_big": (
        *("grad.spike", "loss.spike", "loss.flat", "loss.oscillates", "fit.no_skill"),
        *("units.dead", "units.saturated", "weight.unchanged"),
    ),
    "update.too_small": ("loss.flat", "loss.plateau", "fit.no_skill", "classes.collapsed"),
    "units.dead": ("weight.unchanged", "grad.vanishing", "loss.flat", "fit.no_skill", "classes.collapsed"),
    "units.saturated": ("grad.vanishing", "loss.flat", "fit.no_skill", "classes.collapsed"),
    "grad.clipped_always": ("update.too_small", "loss.flat", "loss.plateau", "fit.no_skill", "classes.collapsed"),
    "loss.sum": ("lr.unusual", "run.too_short", "units.dead", "update.too_big"),
    "model.not_trained": ("weight.unchanged", "fit.no_skill"),
    "model.narrow": ("loss.flat", "loss.plateau", "fit.no_skill", "model.linear"),
    "schedule.lowered": ("run.ends_too_early", "run.ends_too_late", "classes.collapsed", "fit.no_skill"),
    "data.outliers": ("val.too_good", "fit.no_skill", "fit.biased", "loss.diverged"),
}
"""By the code of a cause, those of the symptoms that it explains; of ``nonfinite`` what began with it or after it."""
RATE_TOO_HIGH: Final = (
    *("loss.diverged", "loss.flat", "loss.oscillates", "loss.spike", "fit.no_skill", "classes.collapsed"),
    *("label.mixed_up", "grad.vanishing", "grad.spike", "update.too_big", "units.dead", "units.saturated"),
)
RATE_TOO_LOW: Final = (
    *("update.too_small", "loss.flat", "loss.plateau", "fit.no_skill", "run.ends_too_early", "classes.collapsed"),
)
"""What ``lr.unusual`` explains."""


def is_explained(finding: Finding, causes: Iterable[Finding]) -> bool:
    """Whether one of ``causes`` explains ``finding``. A mere note explains nothing, nor does what is over; and no warning explains an error:
    that a run failed is told, beside what it failed by."""
    began = finding.step if finding.since is None else finding.since
    return any(
        finding.code in symptoms_of(cause)
        and (cause.level == "error" or finding.level != "error")
        and (cause.code != NONFINITE.code or began >= cause.step)
        for cause in causes
    )


def symptoms_of(cause: Finding) -> tuple[str, ...]:
    """The codes of what ``cause`` explains; none where it holds no more, or is a note."""
    if not cause.is_telling or cause.cleared_at is not None:
        return ()
    if cause.code != UNUSUAL_RATE.code:
        return FOLDED.get(cause.code, ())
    peak, usual = cause.evidence.get("peak"), cause.evidence.get("low")
    adds_up_to_little = "rates_added_up" in cause.evidence
    below = isinstance(peak, int | float) and isinstance(usual, int | float) and peak < usual
    return RATE_TOO_LOW if adds_up_to_little or below else RATE_TOO_HIGH
