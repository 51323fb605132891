"""A file of old, with the highest rate beside the optimizer's, trains as one with that as its only rate."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.training.tiny import tiny
from training.config import RunConfig
from training.engine.runs.run import start_run
from training.runs.folder import RunFolder
from training.runs.records.manifest import read_manifest
from training.runs.records.series import read_series

FACTORS = [
    ("optimizer.head_lr_factor=10.0", "optimizer.layer_decay=0.8"),
    ("optimizer.kind=muon", "optimizer.adamw_lr_factor=0.5"),
    ("optimizer.kind=sgd", "loop.swa_start=0.5", "loop.swa_lr=0.01", "loop.swa_every_steps=2"),
]
"""What multiplies the rate, or takes its place."""


def train(config: RunConfig, workspace: Path) -> tuple[str, np.ndarray]:
    record = start_run(config, workspace)
    weights = read_manifest(Path(str(record.last_checkpoint))).files["model.safetensors"].sha256
    return str(weights), read_series(RunFolder(Path(record.folder)).series_file)["lr"]


@pytest.mark.parametrize("factors", FACTORS, ids=lambda factors: factors[0])
def test_a_highest_rate_beside_the_optimizers_trains_to_the_same_bit(factors: tuple[str, ...], tmp_path: Path) -> None:
    old = tiny("loop.epochs=1", "optimizer.lr=1e-3", "schedule.max_lr=1e-2", *factors)
    new = tiny("loop.epochs=1", "optimizer.lr=1e-2", "schedule.max_lr=none", *factors)
    assert old.schedule != new.schedule
    (weights, rates), (same, alike) = train(old, tmp_path / "old"), train(new, tmp_path / "new")
    assert weights == same
    assert rates.tolist() == alike.tolist()
    assert rates.max() == pytest.approx(1e-2, rel=0.2)
