"""Exported scripts leave out the same batches, and end where the run ends."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.training.export.conftest import CPU, Train
from tests.training.export.test_script import assert_same_run, check_source, export, train_by_script
from tests.training.tiny import tiny, tiny_images
from training.runs.folder import RunFolder


@pytest.mark.parametrize("data", ["points", "images"])
def test_a_dropped_batch_is_left_out(train: Train, idx_folder: Path, tmp_path: Path, data: str) -> None:
    drop = (CPU, "loader.drop_last=true", "loop.epochs=2")
    config = tiny(*drop, "loader.sampling=balanced") if data == "points" else tiny_images(idx_folder, *drop)
    checkpoint = train(config)
    file = export(checkpoint, tmp_path / "train.py")
    check_source(file)
    train_by_script(file, tmp_path / "run")
    assert_same_run(checkpoint, tmp_path / "run")


@pytest.mark.slow
@pytest.mark.parametrize(
    "rules",
    [
        ("loop.stopping_threshold=0.45",),
        ("loop.stopping_threshold=1.07", "checkpoints.monitor=val/loss", "loop.validate_every_steps=3"),
    ],
)
def test_it_ends_at_the_metric_that_was_asked_for(train: Train, tmp_path: Path, rules: tuple[str, ...]) -> None:
    checkpoint = train(tiny(CPU, "loop.epochs=12", *rules))
    folder = RunFolder(checkpoint.parent.parent)
    assert str(folder.status().reason).startswith("reached")
    file = export(checkpoint, tmp_path / "train.py")
    check_source(file)
    train_by_script(file, tmp_path / "run")
    assert_same_run(checkpoint, tmp_path / "run")
    steps = (tmp_path / "run" / "steps.csv").read_text()
    train_by_script(file, tmp_path / "run", "--resume")  # nothing is left to do
    assert (tmp_path / "run" / "steps.csv").read_text() == steps
