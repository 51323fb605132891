"""What the steps before a skipped one looked like: whether a run that diverges, or a single operation, is to blame."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.findings.nonfinite import BEFORE, GREW_LOSS, GREW_NORM, RECENT, ROSE_RATE
from training.runs.records.series import Rows, read_steps

_FEWEST = 3 * RECENT


@dataclass(frozen=True)
class Preceding:
    """By how many times the gradient norm, the loss and the rate grew just before; NaN where too few steps tell. ``usual_norm`` is the 90th
    percentile of the norms before."""

    norm_growth: float = np.nan
    loss_growth: float = np.nan
    rate_growth: float = np.nan
    rising: bool = False
    usual_norm: float = np.nan

    @property
    def diverged(self) -> bool:
        """Whether the loss or the rate speaks of steps that are too large."""
        return bool(self.loss_growth > GREW_LOSS or (self.rising and self.rate_growth > ROSE_RATE))

    @property
    def spiked(self) -> bool:
        """Whether the gradient norm had jumped."""
        return bool(self.norm_growth > GREW_NORM)

    @property
    def words(self) -> str:
        """What there is to say of it, a sentence; "" where nothing is unusual."""
        said = []
        if self.spiked:
            said.append(f"the gradient norm had grown to {self.norm_growth:.3g} times its median")
        if self.loss_growth > GREW_LOSS:
            said.append(f"the loss to {self.loss_growth:.3g} times its median")
        if self.rising and self.rate_growth > ROSE_RATE:
            said.append(f"the learning rate was still rising, at {self.rate_growth:.3g} times its start")
        return f"Just before, {', '.join(said)}." if said else ""

    @property
    def evidence(self) -> dict[str, Any]:
        """The numbers that are known."""
        names = ("norm_growth", "loss_growth", "rate_growth")
        return {name: float(value) for name in names if np.isfinite(value := getattr(self, name))}


def look_back(series: Path, step: int) -> Preceding:
    """What the series tells of the steps before ``step``."""
    rows = read_steps(series, step - BEFORE, step - 1)
    rows = rows[(rows["skipped"] == 0) & np.isfinite(rows["loss"]) & np.isfinite(rows["grad_norm"])]
    if len(rows) < _FEWEST:
        return Preceding()
    first = read_steps(series, 1, 1)
    return Preceding(
        _growth(rows["grad_norm"]),
        _growth(rows["loss"]) if (rows["loss"] > 0).all() else np.nan,
        _rate_growth(rows, first),
        bool(rows["lr"][-1] > rows["lr"][-2]),
        float(np.quantile(rows["grad_norm"][:-RECENT], 0.9)),
    )


def _growth(values: NDArray[np.float32]) -> float:
    usual = float(np.median(values[:-RECENT]))
    return float(values[-RECENT:].max()) / usual if usual > 0 else np.nan


def _rate_growth(rows: Rows, first: Rows) -> float:
    start = float(first["lr"][0]) if len(first) else 0.0
    return float(rows["lr"][-1]) / start if start > 0 else np.nan
