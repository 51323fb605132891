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


def usual_rate(config: RunConfig) -> float:
    """That of the optimizer, by default."""
    return float(type(config.optimizer)().lr)


def peak_rate(run: Recorded) -> float:
    """The highest so far, and what the settings say."""
    highest = getattr(run.config.schedule, "max_lr", None)
    return float(run.config.optimizer.lr if highest is None else highest)


def scale_rate(config: RunConfig, factor: float) -> dict[str, JsonValue]:
    """The settings for ``factor`` times the learning rate: where one cycle names its own top, for that."""
    highest = getattr(config.schedule, "max_lr", None)
    path, rate = ("optimizer.lr", config.optimizer.lr) if highest is None else ("schedule.max_lr", highest)
    return {path: float(f"{rate * factor:.3g}")}


def lower_rate(run: Recorded) -> dict[str, JsonValue]:
    """A third of the rate; the usual one, where it is far above that."""
    above = peak_rate(run) / usual_rate(run.config)
    return scale_rate(run.config, 1 / above if above >= FAR else 1 / 3)


def raise_rate(run: Recorded) -> dict[str, JsonValue]:
    """Ten times the rate; the usual one, where it is farther below that."""
    below = usual_rate(run.config) / peak_rate(run)
    return scale_rate(run.config, max(below, 10.0))


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
