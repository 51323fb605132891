"""What there is to say of settings before a step is made: rates, schedule, length, batches, early stopping, regularization."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from training.config import RunConfig
from training.doctor.settings.duration import duration_findings
from training.doctor.settings.length import length_findings
from training.doctor.settings.optimizer import optimizer_findings, suitability_findings
from training.doctor.settings.rate import rate_findings
from training.doctor.settings.regularization import regularization_findings
from training.doctor.settings.stopping import stopping_findings
from training.doctor.settings.unusual import unusual_findings
from training.events import Finding
from training.schedules import make_run_schedule

_LOOKED_AT = 2_000


@dataclass(frozen=True)
class Scope:
    """How much there is to learn from: training ``samples``, the ``usual`` class's share of them (0: no classes), whether each sample holds
    many answers (``dense``: pixels, tokens), whether the network begins with ``known`` weights."""

    samples: int = 0
    usual: float = 0.0
    dense: bool = False
    known: bool = False


def setting_findings(
    config: RunConfig, total_steps: int, steps_per_epoch: int, scope: Scope | None = None
) -> list[Finding]:
    """Of a run of so many optimizer steps."""
    schedule = make_run_schedule(config, total_steps, steps_per_epoch)
    count = min(total_steps, _LOOKED_AT)
    steps = sorted({*(number * total_steps // count for number in range(count)), total_steps - 1})
    rates = [schedule.lr(step) for step in steps]
    scope = scope or Scope()
    known = scope.known or bool(getattr(config.model, "pretrained", None))
    unsuitable = suitability_findings(config, max(rates), known, total_steps)
    counts = (total_steps, steps_per_epoch, scope.samples)
    way = sum(rates) / len(rates) * total_steps
    unusual = rate_findings(config, max(rates), known, total_steps)
    times = _find_times(unusual, max(rates))
    return [
        *unsuitable,
        *unusual,
        *optimizer_findings(config, total_steps),
        *length_findings(config, steps, rates, total_steps),
        *duration_findings(config, (steps, rates), counts, known or bool(unsuitable), scope.dense),
        *unusual_findings(config, total_steps),
        *stopping_findings(config, total_steps, steps_per_epoch, scope.usual),
        *regularization_findings(config, times * max(rates), times * way),
    ]


def _find_times(unusual: Iterable[Finding], peak: float) -> float:
    """By what a learning rate that is far too high is to be multiplied: regularization is judged at the rate that is proposed instead."""
    proposed = (each.fix.get("optimizer.lr") for each in unusual if each.level == "warning")
    rates = [float(rate) for rate in proposed if isinstance(rate, int | float)]
    return min([1.0, *(rate / peak for rate in rates)])
