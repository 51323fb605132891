"""The level of a noisy curve, stretch by stretch, with its standard error."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from training.runs.records.series import Rows

STRETCHES, LEAST_STEPS = 40, 10


class Level(NamedTuple):
    """The mean of the losses of the steps ``first`` to ``last``, and its standard error by how they scatter."""

    first: int
    last: int
    mean: float
    error: float


def smooth(steps: Rows) -> list[Level]:
    """The training loss of at most 40 equal stretches of ten steps or more; steps that were skipped do not count."""
    made = steps[(steps["skipped"] == 0) & np.isfinite(steps["loss"])]
    count = min(STRETCHES, len(made) // LEAST_STEPS)
    if not count:
        return []
    bounds = np.linspace(0, len(made), count + 1).astype(int)
    losses, numbers = made["loss"].astype(np.float64), made["step"]
    levels = []
    for first, stop in pairwise(bounds):
        part = losses[first:stop]
        error = float(part.std(ddof=1) / np.sqrt(len(part)))
        levels.append(Level(int(numbers[first]), int(numbers[stop - 1]), float(part.mean()), error))
    return levels
