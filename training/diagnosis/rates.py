"""Whether a learning rate is the usual one, and other rates as a patch of the settings."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import JsonValue

from training.config import RunConfig
from training.diagnosis.recorded import Recorded
from training.runs.records.columns import Columns
from training.runs.records.layers import layer_norms, layers_of

FAR = 10.0
"""Times the usual rate, or below it, from which on a rate is far from it."""
BIG_UPDATE, SMALL_UPDATE = -1.5, -4.5
"""log10 of what a step changes of the weights' norm, from which on the rate is too high or too low."""

Verdict = Literal["high", "low", ""]


_PER_STEP = ("adamw", "adam", "nadam", "radam", "rmsprop")
_WAY, _MOST = 1.0, 3.0


def usual_rate(config: RunConfig) -> float:
    """That of the optimizer, by default."""
    return float(type(config.optimizer)().lr)


def fitting_rate(config: RunConfig, steps: int) -> float:
    """The usual rate; for a run of few ``steps`` up to three times that. An optimizer like Adam moves a weight by about the rate in each
    step, whatever the gradient (Kingma and Ba 2015, 2.1), and schedules average half the peak: so that in 2,000 steps, for which 1e-3 is
    usual, a weight goes a way of 1."""
    usual = usual_rate(config)
    if config.optimizer.kind not in _PER_STEP:
        return usual
    return float(f"{min(max(2 * _WAY / max(steps, 1), usual), _MOST * usual):.2g}")


def peak_rate(run: Recorded) -> float:
    """The highest that the settings call for."""
    highest = getattr(run.config.schedule, "max_lr", None)
    return float(run.config.optimizer.lr if highest is None else highest)


def scale_rate(config: RunConfig, factor: float) -> dict[str, JsonValue]:
    """The settings for ``factor`` times the learning rate: where one cycle names its own top, for that."""
    highest = getattr(config.schedule, "max_lr", None)
    path, rate = ("optimizer.lr", config.optimizer.lr) if highest is None else ("schedule.max_lr", highest)
    return {path: float(f"{rate * factor:.3g}")}


def lower_rate(run: Recorded) -> dict[str, JsonValue]:
    """A third of the rate, or the fitting one where that is lower still."""
    return scale_rate(run.config, min(fitting_rate(run.config, run.total_steps) / peak_rate(run), 1 / 3))


def raise_rate(run: Recorded) -> dict[str, JsonValue]:
    """Ten times the rate, or the fitting one where that is higher still."""
    return scale_rate(run.config, max(fitting_rate(run.config, run.total_steps) / peak_rate(run), 10.0))


def judge_rate(run: Recorded) -> Verdict:
    """Whether the rate is far too high or too low: by how far it is from the usual one, else by the updates of the layers."""
    times = peak_rate(run) / usual_rate(run.config)
    if times >= FAR:
        return "high"
    if times <= 1 / FAR:
        return "low"
    size = update_size(run)
    if size is None:
        return ""
    return "high" if size > BIG_UPDATE else "low" if size < SMALL_UPDATE else ""


def update_size(run: Recorded) -> float | None:
    """log10 of what a step changes of a layer's norm: the median of layers and of the records behind warm-up; None where nothing was
    recorded."""
    if run.layers is None or not layers_of(Columns(run.layers.names)):
        return None
    rows = run.layers.rows[run.layers.rows["step"] >= run.warmup]
    ratios = layer_norms(rows, "ratio")
    ratios = ratios[np.isfinite(ratios) & (ratios > 0)]
    return float(np.log10(np.median(ratios))) if len(ratios) else None
