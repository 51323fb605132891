"""Records of runs that nobody trained: series made of formulas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.config import parse_config
from training.data_report import DataReport, InputStats, Placement
from training.diagnosis import Recorded
from training.events import EpochEnded, Finding, Validated
from training.runs.records.series import STEP_ROW

PER_EPOCH = 50
LARGE = 10**9
"""Weights, whose steps take so long that no look is left out."""


def make_rows(losses: NDArray[np.float64], lr: float | NDArray[np.float64] = 1e-3, norm: float = 1.0) -> np.ndarray:
    """A row for each loss."""
    rows = np.zeros(len(losses), STEP_ROW)
    rows["step"] = np.arange(1, len(losses) + 1)
    rows["epoch"] = (rows["step"] - 1) // PER_EPOCH
    rows["loss"], rows["lr"], rows["grad_norm"] = losses, lr, norm
    return rows


def make_run(
    losses: NDArray[np.float64],
    validated: Mapping[str, Sequence[float]] | None = None,
    settings: Mapping[str, Any] | None = None,
    total: int | None = None,
    findings: Sequence[Finding] = (),
    counts: Sequence[int] = (800, 800, 800),
    parameters: int = 1_000,
    ended: str | None = None,
    **columns: Any,
) -> Recorded:
    """A run of epochs of 50 steps that has recorded ``losses``; ``validated``: metrics of each epoch's end, "train/loss" among them (else the
    mean of its steps'); ``counts``: samples of each class, with a quarter as many to validate."""
    config = parse_config(
        {"dataset": {"kind": "spiral"}, "model": {"kind": "mlp"}, "schedule": {"kind": "constant"}, **(settings or {})}
    )
    named = dict(validated or {})
    train = named.pop("train/loss", None)
    ends = range(len(next(iter(named.values()), ())))
    told = tuple(
        Validated(
            step=(end + 1) * PER_EPOCH,
            epoch=end + 1,
            metrics={name: values[end] for name, values in named.items()},
            improved=False,
        )
        for end in ends
    )
    means = (
        train
        if train is not None
        else [float(np.mean(losses[end * PER_EPOCH : (end + 1) * PER_EPOCH])) for end in ends]
    )
    return Recorded(
        config=config,
        total_steps=total or len(losses),
        steps_per_epoch=PER_EPOCH,
        step=len(losses),
        steps=make_rows(losses, **columns),
        validations=told,
        epochs=tuple(
            EpochEnded(step=each.step, epoch=each.epoch, metrics={**each.metrics, "train/loss": mean})
            for each, mean in zip(told, means, strict=True)
        ),
        findings=tuple(findings),
        data=make_report(counts),
        parameters=parameters,
        ended=ended,
    )


def make_report(counts: Sequence[int]) -> DataReport:
    """Of data in the plane with so many samples of each class."""
    held = tuple(count // 4 for count in counts)
    return DataReport(
        kind="spiral",
        layout="vector",
        target="class",
        classes=tuple(f"class {number}" for number in range(len(counts))),
        counts={"train": tuple(counts), "validation": held},
        samples={"train": sum(counts), "validation": sum(held)},
        shape=(2,),
        skipped=(),
        skipped_total=0,
        notes=(),
        fingerprint="",
        normalisation=InputStats(mean=(0.0, 0.0), std=(1.0, 1.0)),
        batches=Placement(mode="resident", reason="", bytes=0),
    )


def noisy(curve: NDArray[np.float64], share: float = 0.1, seed: int = 0) -> NDArray[np.float64]:
    """``curve`` with noise as batches have it: of each step its own, in proportion to the loss."""
    return curve * np.exp(share * np.random.default_rng(seed).standard_normal(len(curve)))
