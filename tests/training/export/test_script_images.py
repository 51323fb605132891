"""Scripts over images: frozen parts, averages with batch norm, mixed samples whose classes have weights."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.training.export.conftest import CPU, Train
from tests.training.export.test_script import assert_same_run, check_source, export, train_by_script
from tests.training.tiny import tiny_images
from training.errors import TrainingError
from training.export import script
from training.export.bundle import load_bundle

MEASURED = {
    "all": ("loop.swa_start=0.3", "loop.epochs=2", "dataset.erasing=0.5"),
    "but frozen ones": ("loop.swa_start=0.3", "loop.epochs=2", "optimizer.freeze=stages"),
    "as the epoch that comes trains them": (
        "loop.swa_start=0.0",
        "loop.epochs=2",
        "loop.max_steps=4",
        "optimizer.freeze=stages",
        "optimizer.unfreeze_epoch=1",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("choice", MEASURED)
def test_equal_averages_measure_batch_norm(choice: str, idx_folder: Path, train: Train, tmp_path: Path) -> None:
    averaged = ("model.norm=batch", "loop.ema_decay=none", "loop.swa_every_steps=2", "loop.epochs=1")
    checkpoint = train(tiny_images(idx_folder, CPU, *averaged, *MEASURED[choice]))
    file = export(checkpoint, tmp_path / "train.py")
    check_source(file)
    train_by_script(file, tmp_path / "run")
    assert_same_run(checkpoint, tmp_path / "run")


def test_classes_of_weight_are_mixed(idx_folder: Path, train: Train, tmp_path: Path) -> None:
    mixed = ("dataset.mixup_alpha=0.4", "dataset.cutmix_alpha=1.0", "objective.balanced=true", "loop.epochs=1")
    checkpoint = train(tiny_images(idx_folder, CPU, *mixed))
    file = export(checkpoint, tmp_path / "train.py")
    check_source(file)
    train_by_script(file, tmp_path / "run")
    assert_same_run(checkpoint, tmp_path / "run")


FREEZING = {
    "head": ("optimizer.freeze=all_but_head", "loop.ema_decay=none"),
    "first stage, then all": ("optimizer.freeze=stages", "optimizer.unfreeze_epoch=1", "loop.validate_every_steps=1"),
    "by depth": ("optimizer.freeze=stages", "optimizer.layer_decay=0.5", "optimizer.kind=sgd"),
}


@pytest.mark.parametrize("choice", FREEZING)
def test_freezing(choice: str, idx_folder: Path, train: Train, tmp_path: Path) -> None:
    checkpoint = train(tiny_images(idx_folder, CPU, "model.norm=batch", "loop.epochs=2", *FREEZING[choice]))
    file = export(checkpoint, tmp_path / "train.py")
    check_source(file)
    train_by_script(file, tmp_path / "run")
    assert_same_run(checkpoint, tmp_path / "run")
    bundle = load_bundle(checkpoint)
    wrong = re.sub(r"FROZEN = \(.*?\)", "FROZEN = ('none',)", file.read_text(encoding="utf-8"), flags=re.DOTALL)
    with pytest.raises(TrainingError, match="The script's frozen parts would differ"):
        script.prove_script(bundle, wrong)
