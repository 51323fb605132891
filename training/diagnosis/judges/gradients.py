"""What the norms of gradients tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.config import RunConfig
from training.config.sections.loop import Loop
from training.diagnosis.layer_view import find_clip, find_progress, has_saturating, view_layers
from training.diagnosis.level import find_medians
from training.diagnosis.rates import scale_rate, tame_rate
from training.diagnosis.recorded import Recorded
from training.errors import pluralize
from training.events import Finding
from training.findings.gradients import (
    CLIPPED,
    CLIPPED_ALWAYS,
    FADED,
    FEW_SPIKES,
    GRADIENT_SPIKE,
    HARM,
    HARM_SHARE,
    HUGE,
    LITTLE_PROGRESS,
    LOOKED_AT,
    NEVER,
    NEVER_CLIPPED,
    SPIKE,
    SURE,
    TIGHT,
    TINY,
    UNUSED,
    VANISHING,
    WINDOW,
)

_AROUND = 20
"""Steps before and behind a spike, whose losses are compared."""
_SHOWN = 8
"""Spikes that are named."""


def judge_spikes(run: Recorded) -> Iterator[Finding]:
    """The norm jumps, and the loss with it."""
    spikes, times = find_spikes(run)
    if len(spikes) < FEW_SPIKES and not (times > HUGE).any():
        return
    norms, clip = run.steps["grad_norm"], find_clip(run)
    limit = run.config.loop.clip_norm or None
    usual = limit is not None and limit <= clip
    yield GRADIENT_SPIKE.find(
        "warning",
        f"The gradient norm jumped {pluralize(len(spikes), 'time')}, to {times.max():.3g} times its usual size at most, and the loss rose after that.",
        "Gradients are clipped already: lower the learning rate, or look at the samples of these steps."
        if usual
        else "Clip gradients at the norm that nine in ten stay below.",
        evidence={
            "steps": spikes[:_SHOWN].tolist(),
            "norms": norms[spikes[:_SHOWN] - 1].tolist(),
            "spikes": len(spikes),
            "largest": float(times.max()),
        },
        fix=scale_rate(run.config, 1 / 3) if usual else {"loop.clip_norm": clip},
        since=int(spikes[0]),
    )


def find_spikes(run: Recorded) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The steps at which the norm jumped and the loss after it, and how many times the usual size it was."""
    steps = run.steps
    count = len(steps) // WINDOW * WINDOW
    if count < 2 * WINDOW:
        return np.zeros(0, np.int64), np.zeros(0)
    norms = np.where(np.isfinite(steps["grad_norm"]), steps["grad_norm"], np.nan).astype(np.float64)
    blocks = np.nan_to_num(norms[:count]).reshape(-1, WINDOW)
    median = find_medians(blocks)
    block = np.clip(np.arange(len(steps)) // WINDOW - 1, 0, None)  # the one before
    block = np.minimum(block, len(median) - 1)
    times = norms / np.maximum(median[block], 1e-30)
    found = (times > SPIKE) & (steps["step"] >= run.warmup)
    if found.any():  # also beside the run's beginning: near 0 a norm is soon many times another
        spread = 1.4826 * find_medians(np.abs(blocks - median[:, None]))
        found &= (norms > median[block] + SURE * spread[block]) & (norms > np.nanpercentile(norms, 90))
    first = [place for place in np.flatnonzero(found) if not found[max(place - 10, 0) : place].any()]
    if not first:
        return np.zeros(0, np.int64), np.zeros(0)
    least = HARM_SHARE * abs(float(np.mean(steps["loss"][:WINDOW], dtype=np.float64)))
    harmful = np.array([place for place in first if _rise(steps["loss"], int(place)) > least], np.int64)
    return harmful + 1, times[harmful]


def _rise(losses: NDArray[np.float32], place: int) -> float:
    """By how much the loss is higher behind ``place`` than before; 0 where that may be chance."""
    before = losses[max(place - _AROUND, 0) : place].astype(np.float64)
    after = losses[place + 1 : place + 1 + _AROUND].astype(np.float64)
    if len(after) < _AROUND or len(before) < _AROUND:
        return 0.0
    rise = float(np.median(after) - np.median(before))
    return rise if rise > HARM * float(before.std()) else 0.0


def judge_clipping(run: Recorded) -> Iterator[Finding]:
    """Nearly every gradient is clipped, or none."""
    limit = run.config.loop.clip_norm
    if not limit:
        return
    norms = run.judged["grad_norm"].astype(np.float64)
    norms = norms[np.isfinite(norms)]
    recent = norms[-LOOKED_AT:]
    if len(recent) < LOOKED_AT:
        return
    share = float((recent > limit).mean())
    if share > CLIPPED:
        yield _tell_clipped(run, limit, share, float(np.median(recent)))
    default = Loop.model_fields["clip_norm"].default
    if limit != default and len(norms) >= NEVER and norms[-NEVER:].max() * UNUSED < limit:
        yield NEVER_CLIPPED.find(
            "info",
            f"No gradient norm of the last {NEVER:,} steps came near loop.clip_norm = {limit:g}; the largest was {norms[-NEVER:].max():.3g}.",
            "It does nothing here. A limit at the 90th percentile keeps rare large gradients small.",
            evidence={
                "largest": float(norms[-NEVER:].max()),
                "median": float(np.median(recent)),
                "limit": limit,
            },
            fix={"loop.clip_norm": find_clip(run)},
        )


def _tell_clipped(run: Recorded, limit: float, share: float, median: float) -> Finding:
    progress = find_progress(run)
    slow = progress is not None and progress.best < LITTLE_PROGRESS
    harmful = run.config.optimizer.kind == "sgd" and limit < TIGHT * median and slow
    return CLIPPED_ALWAYS.find(
        "warning" if harmful else "info",
        f"{share:.0%} of the last {LOOKED_AT} gradients were clipped: their median norm is {median:.3g}, and loop.clip_norm is {limit:g}.",
        "The limit acts as a learning rate that is much lower. Raise it to the norm that nine in ten stay below."
        if harmful
        else "The limit then acts as one of the learning rate, which does no harm while the run learns as it should.",
        evidence={"share": share, "median": median, "limit": limit},
        fix={"loop.clip_norm": find_clip(run)} if harmful else {},
    )


def judge_vanishing(run: Recorded) -> Iterator[Finding]:
    """The first layers hardly get a gradient, and nothing is learned."""
    progress = find_progress(run)
    if progress is None or progress.best >= LITTLE_PROGRESS:
        return
    view = view_layers(run, first=1)
    if view is None or len(view.steps) < 3:
        return
    trained = np.flatnonzero((view.gradients > 0).any(0))
    if len(trained) < 3:
        return
    begin, end = trained[0], trained[-1]
    gradients = np.median(view.gradients[-3:], axis=0)
    first, last = float(gradients[begin]), float(gradients[end])
    if first >= TINY or first >= FADED * last:
        return
    cause, fix = _explain_vanishing(run, len(trained))
    low = (view.gradients[:, begin] < TINY) & (view.gradients[:, begin] < FADED * view.gradients[:, end])
    start = int(view.steps[np.flatnonzero(~low)[-1] + 1] if not low.all() else view.steps[0])
    if first == 0 and not low[0]:
        cause, fix = (
            "They came there at first: units died on the way. The learning rate is too high.",
            tame_rate(run, start),
        )
    yield VANISHING.find(
        "warning",
        f"Gradients vanish: the norm is {first:.2g} in the first layer, {view.layers[begin]}, and {last:.2g} in the last.",
        cause,
        evidence={"first_layer": first, "last_layer": last, "layers": len(trained), "progress": progress.best},
        fix=fix,
        since=start,
    )


def _explain_vanishing(run: Recorded, layers: int) -> tuple[str, Mapping[str, Any]]:
    """Why, and what mends it."""
    model = run.config.model
    if has_saturating(run):
        why = f"Each of {layers} layers multiplies the gradient by the slope of tanh or sigmoid, which is small where they saturate."
        if hasattr(model, "activation"):
            return f"{why} Choose ReLU.", {"model.activation": "relu"}
        return f"{why} Use ReLU or GELU in the hidden layers.", {}
    if getattr(model, "norm", "") == "none":
        return f"{layers} layers follow each other without normalization. Add one.", {
            "model.norm": best_norm(run.config)
        }
    return "Add normalization or residual connections, or begin with larger weights (Kaiming).", {}


def best_norm(config: RunConfig) -> str:
    """The normalization that such a network takes: batch norm where batches are large enough for it, else layer norm."""
    if config.model.kind in ("mlp", "tabular"):
        return "layer"
    return "batch" if config.loop.batch_size >= 16 else "group"


JUDGES = (judge_spikes, judge_clipping, judge_vanishing)
