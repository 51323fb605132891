"""The rules that Amazon has published for SageMaker Debugger, with their default thresholds, asked of what a run of ours recorded.

Source: awsdocs/amazon-sagemaker-developer-guide@c6db92fc, doc_source/debugger-built-in-rules.md. Losses are looked at epoch by epoch: step by
step LossNotDecreasing would speak of every run. Left out are rules whose tensors are not recorded (PoorWeightInitialization,
AllZero, CheckInputImages), that are of other networks, or that watch a machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from training.diagnosis.recorded import LayerRows, Recorded
from training.runs.records.columns import Columns
from training.runs.records.layers import layer_norms, layers_of

VANISHING, LARGE_RATIO, SMALL_RATIO = 1e-7, 10.0, 1e-8
STEPS_BACK = 10
OVERFIT = 0.1
TRAIN_PATIENCE, VALIDATION_PATIENCE, DELTA = 5, 10, 0.1
UNEVEN = 10.0
UNCHANGED, SAVES = 1e-5, 3
LAYER = 0.5

CAUSES: Mapping[str, tuple[str, ...]] = {
    "ExplodingTensor": (
        "overflow",
        "module produces non-finite values",
        "non-finite values",
        "learning rate too high",
        "initialization too large",
    ),
    "VanishingGradient": ("saturating activation", "initialization too small", "superfluous layers"),
    "WeightUpdateRatio": ("learning rate too high", "learning rate too low"),
    "UnchangedTensor": ("parameters without gradient", "frozen layers", "learning rate too low"),
    "DeadRelu": ("dead initialization", "learning rate too high"),
    "SaturatedActivation": ("saturating activation", "initialization too large"),
    "ClassImbalance": ("class imbalance",),
    "LossNotDecreasing": ("learning rate too high", "learning rate too low"),
    "Overfit": ("too many epochs",),
    "Overtraining": ("too many epochs",),
}
"""What each names, generously; in the order in which a finding of it is taken for the first."""


def judge(run: Recorded) -> tuple[str, ...]:
    """The names of the rules that speak, in the order of CAUSES."""
    spoken = {*_of_norms(run), *_of_losses(run), *_of_units(run.units)}
    counts = [count for count in (run.data.counts.get("train", ()) if run.data else ()) if count]
    if counts and max(counts) > UNEVEN * min(counts):
        spoken.add("ClassImbalance")
    return tuple(name for name in CAUSES if name in spoken)


def _of_norms(run: Recorded) -> Iterator[str]:
    finite = np.isfinite(run.steps["loss"]) & np.isfinite(run.steps["grad_norm"])
    if not finite.all() or run.skips:
        yield "ExplodingTensor"
    if run.parameters:
        mean_size = np.sqrt(2 / np.pi) * run.steps["grad_norm"][finite] / np.sqrt(run.parameters)  # of normal gradients
        if (mean_size < VANISHING).any():
            yield "VanishingGradient"
    if run.layers is None or not layers_of(Columns(run.layers.names)):
        return
    ratio = layer_norms(run.layers.rows, "ratio")
    if (ratio > LARGE_RATIO).any() or (ratio < SMALL_RATIO).any():
        yield "WeightUpdateRatio"
    still = ratio < UNCHANGED
    if (
        len(still) >= SAVES
        and np.logical_and.reduce([still[n : len(still) - SAVES + 1 + n] for n in range(SAVES)]).any()
    ):
        yield "UnchangedTensor"


def _of_losses(run: Recorded) -> Iterator[str]:
    steps, validation = run.metric_values("val/loss")
    if not len(steps):
        return
    begins = np.concatenate([[0], steps[:-1]])
    train: NDArray[np.float64] = np.array(
        [run.steps["loss"][begin:end].mean() for begin, end in zip(begins, steps, strict=True)], np.float64
    )
    for place in range(1, len(steps)):
        before = np.flatnonzero(steps <= steps[place] - STEPS_BACK)
        if len(before) and not train[place] < train[before[-1]]:
            yield "LossNotDecreasing"
            break
    with np.errstate(divide="ignore", invalid="ignore"):
        if ((validation - train) / train > OVERFIT).any():
            yield "Overfit"
    if _stale(train) >= TRAIN_PATIENCE and _stale(validation) >= VALIDATION_PATIENCE:
        yield "Overtraining"


def _stale(values: NDArray[np.float64]) -> int:
    """For how many values in a row at the end, or anywhere, none was better by DELTA."""
    best, stale, most = np.inf, 0, 0
    for value in values:
        stale = 0 if value < best - DELTA else stale + 1
        best, most = min(best, value), max(most, stale)
    return most


def _of_units(units: LayerRows | None) -> Iterator[str]:
    if units is None:
        return
    for rule, quantity in (("DeadRelu", "dead/"), ("SaturatedActivation", "saturated/")):
        places = [place for place, name in enumerate(units.names) if name.startswith(quantity)]
        if places and (units.rows["values"][:, places] > LAYER).any():
            yield rule
