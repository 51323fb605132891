"""What the curve of the training loss tells."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from training.diagnosis.level import Level, smooth
from training.diagnosis.rates import scale_rate
from training.diagnosis.recorded import Recorded
from training.events import Finding
from training.findings.curves import ALL_LOST, DIVERGED, LOST, SURE


def judge_diverged(run: Recorded) -> Iterator[Finding]:
    """The loss lost what it had come down by."""
    levels = smooth(run.steps)
    if len(levels) < 3:
        return
    start, now = levels[0], levels[-1]
    best: Level = min(levels[:-1], key=lambda level: level.mean)
    progress, lost = start.mean - best.mean, now.mean - best.mean
    error = float(np.hypot(best.error, now.error))
    if lost <= max(LOST * progress, SURE * error):
        return
    worse = lost >= ALL_LOST * progress
    after = next(
        level for level in levels if level.first > best.last and level.mean - best.mean > max(LOST * progress, 0) / 2
    )
    yield DIVERGED.find(
        "error" if worse else "warning",
        f"The training loss diverged: it was {best.mean:.4g} around step {best.last:,} and is {now.mean:.4g} now.",
        "Branch from the last checkpoint before that with a lower learning rate.",
        evidence={
            "start": start.mean,
            "best": best.mean,
            "best_step": best.last,
            "now": now.mean,
            "standard_error": error,
        },
        fix=scale_rate(run.config, 1 / 3),
        since=after.first,
    )


JUDGES = (judge_diverged,)
