"""When a validation is better than another."""

from __future__ import annotations

import math


def is_better(value: float, best: float | None, maximize: bool, min_delta: float = 0.0) -> bool:
    """Whether ``value`` is better than ``best`` (None: there is none yet) by more than ``min_delta``. NaN never is."""
    if best is None:
        return not math.isnan(value)
    return (value - best if maximize else best - value) > min_delta
