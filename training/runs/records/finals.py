"""What a run measured, each metric in two numbers: the newest value and the best."""

from __future__ import annotations

import math
from typing import NamedTuple

from training.events import EpochEnded, Validated
from training.runs.query.names import is_maximized
from training.runs.records.history import History


class Final(NamedTuple):
    """Finite numbers, or None where the newest, or every value, was none."""

    last: float | None
    best: float | None


def find_finals(history: History) -> dict[str, Final]:
    """Of each metric by its whole name ("val/accuracy"), over all that counts of the run's epochs and validations."""
    measured: list[EpochEnded | Validated] = [*history.epochs, *history.validations]
    last: dict[str, float] = {}
    best: dict[str, float] = {}
    for item in sorted(measured, key=lambda item: item.step):
        for name, value in item.metrics.items():
            last[name] = value
            if math.isfinite(value):
                better = max if is_maximized(name) else min
                best[name] = better(best.get(name, value), value)
    return {name: Final(value if math.isfinite(value) else None, best.get(name)) for name, value in last.items()}
