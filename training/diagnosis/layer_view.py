"""What was recorded of each layer, as judges ask for it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.diagnosis.level import find_medians
from training.diagnosis.recorded import Recorded, once
from training.runs.records.columns import Columns
from training.runs.records.layers import layer_norms, layers_of
from training.runs.records.units import unit_layers, unit_shares

_FEW = 8
"""Samples of a batch, of fewer of which a single loss says little."""
_EXPLODED = 10
"""Times its first value that the loss of the first stretch has come to."""


class LayerView(NamedTuple):
    """``steps`` (rows,) that were recorded, and the norms of each layer then, (rows, layers) each, from the input to the
    output."""

    layers: tuple[str, ...]
    steps: NDArray[np.int64]
    gradients: NDArray[np.float64]
    weights: NDArray[np.float64]
    updates: NDArray[np.float64]


def view_layers(run: Recorded, first: int | None = None) -> LayerView | None:
    """From the step ``first`` on, or since warm-up; None where nothing of layers was recorded then. Steps that were skipped are left
    out."""
    if (view := _view_all_layers(run)) is None:
        return None
    start = int(np.searchsorted(view.steps, run.warmup if first is None else first))
    layers, steps, *norms = view
    gradients, weights, updates = (each[start:] for each in norms)
    return LayerView(layers, steps[start:], gradients, weights, updates) if start < len(steps) else None


@once
def _view_all_layers(run: Recorded) -> LayerView | None:
    if run.layers is None:
        return None
    layers, rows = layers_of(Columns(run.layers.names)), run.layers.rows
    if not layers or not len(rows):
        return None
    made = run.steps["skipped"][np.clip(rows["step"] - 1, 0, max(len(run.steps) - 1, 0))] == 0
    rows = rows[made & (rows["step"] <= len(run.steps))]
    gradients, weights, updates = (
        layer_norms(rows, quantity).astype(np.float64) for quantity in ("gradient", "weight", "update")
    )
    return LayerView(layers, rows["step"].astype(np.int64), gradients, weights, updates) if len(rows) else None


class UnitView(NamedTuple):
    """``steps`` (rows,) that were looked at since the run began, and the shares of each layer's dead and saturated units, (rows, layers);
    NaN where a layer has no such activation."""

    layers: tuple[str, ...]
    steps: NDArray[np.int64]
    dead: NDArray[np.float32]
    saturated: NDArray[np.float32]


@once
def view_units(run: Recorded) -> UnitView | None:
    """None where no unit was looked at."""
    if run.units is None or not len(run.units.rows):
        return None
    layers, rows = unit_layers(Columns(run.units.names)), run.units.rows
    if not layers:
        return None
    return UnitView(layers, rows["step"].astype(np.int64), unit_shares(rows, "dead"), unit_shares(rows, "saturated"))


def has_saturating(run: Recorded) -> bool:
    """Whether a hidden layer ends in tanh or a sigmoid."""
    units = view_units(run)
    return units is not None and bool(np.isfinite(units.saturated).any())


class Progress(NamedTuple):
    """By how much the training loss has come down: ``best`` at its lowest and ``now``, as shares of the loss of the first steps."""

    best: float
    now: float


@once
def find_progress(run: Recorded) -> Progress | None:
    """None before there are three stretches of steps."""
    levels = run.levels
    if len(levels) < 3:
        return None
    start, first = levels[0].mean, float(run.made["loss"][0])
    loop = run.config.loop
    if loop.batch_size * loop.accumulation >= _FEW and start > _EXPLODED * abs(first):
        start = first
    scale = abs(start) or 1.0
    lowest = min(level.mean for level in levels[1:])
    return Progress((start - lowest) / scale, (start - levels[-1].mean) / scale)


def find_sizes(view: LayerView) -> NDArray[np.float64]:
    """(rows,): log10 of the update beside the weights in the median layer that changes; NaN where none does."""
    moved = (view.updates > 0) & (view.weights > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = np.where(moved, np.log10(view.updates / view.weights), np.nan)
    return find_medians(sizes)


@once
def sizes_at_work(run: Recorded) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """``find_sizes`` of the records since warm-up at which the learning rate is at half its peak or more, and their steps."""
    if (view := view_layers(run)) is None:
        return np.zeros(0), np.zeros(0, np.int64)
    sizes = find_sizes(view)
    rows = (run.steps["lr"][view.steps - 1] >= 0.5 * run.steps["lr"].max()) & np.isfinite(sizes)
    return sizes[rows], view.steps[rows]


def find_clip(run: Recorded) -> float:
    """The 90th percentile of the gradient norms since warm-up, in two digits: Google's Tuning Playbook."""
    norms = run.judged["grad_norm"]
    return float(f"{np.percentile(norms[np.isfinite(norms)].astype(np.float64), 90):.2g}")
