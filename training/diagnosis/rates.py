"""Whether a learning rate is the usual one, and other rates as a patch of the settings."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import JsonValue

from training.config import RunConfig
from training.diagnosis.layer_view import find_sizes, sizes_at_work, view_layers
from training.diagnosis.recorded import Recorded
from training.findings.layers import BIG, FIRST_GOOD, SMALL

FAR = 10.0
"""Times the usual rate, or below it, from which on a rate is far from it."""

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
    return _peak(run.config)


def _peak(config: RunConfig) -> float:
    highest = getattr(config.schedule, "max_lr", None)
    return float(config.optimizer.lr if highest is None else highest)


def calm_rate(config: RunConfig, steps: int, factor: float = 1 / 10) -> dict[str, JsonValue]:
    """The settings for a tenth of the learning rate, or ``factor`` times it where that is lower; at most the fitting one for a run of so many
    ``steps``."""
    return scale_rate(config, min(1 / 10, factor, fitting_rate(config, steps) / _peak(config)))


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
    return "high" if size > BIG else "low" if size < SMALL else ""


def update_size(run: Recorded) -> float | None:
    """log10 of what a step changes of the weights: the median of ``sizes_at_work``; None where nothing was recorded."""
    sizes, _ = sizes_at_work(run)
    return float(np.median(sizes)) if len(sizes) else None


def tame_rate(run: Recorded, step: int) -> dict[str, JsonValue]:
    """A tenth of the learning rate, or what makes the largest update up to ``step`` a hundredth of the weights; at most the fitting one."""
    view = view_layers(run.until(step), first=1)
    sizes = find_sizes(view) if view is not None else np.zeros(0)
    sizes = sizes[np.isfinite(sizes)]
    measured = 10.0 ** (FIRST_GOOD - float(sizes.max())) if len(sizes) else 1.0
    return calm_rate(run.config, run.total_steps, measured)
