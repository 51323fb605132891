"""The exported script averages weights as the engine does, and judges by the right ones."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.training.export.conftest import CPU, Train
from tests.training.export.test_script import assert_same_run, check_source, export, train_by_script
from tests.training.tiny import tiny, tiny_images
from training.runs.folder import RunFolder
from training.runs.records.evaluation import read_evaluation


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [(), ("loop.swa_every_steps=3", "loop.swa_lr=0.002", "schedule.kind=constant"), ("loop.swa_every_steps=1",)],
    ids=str,
)
def test_equal_averages(more: tuple[str, ...], train: Train, tmp_path: Path) -> None:
    checkpoint = train(tiny(CPU, "loop.swa_start=0.4", "loop.validate_every_steps=5", *more))
    file = export(checkpoint, tmp_path / "train.py")
    check_source(file)
    train_by_script(file, tmp_path / "run")
    assert (checkpoint / "ema.safetensors").exists()
    assert_same_run(checkpoint, tmp_path / "run")


def test_equal_averages_with_a_test_part(idx_folder: Path, train: Train, tmp_path: Path) -> None:
    config = tiny_images(idx_folder, CPU, "loop.ema_decay=none", "loop.swa_start=0.0", "loop.epochs=2")
    checkpoint = train(config)
    train_by_script(export(checkpoint, tmp_path / "train.py"), tmp_path / "run")
    assert_same_run(checkpoint, tmp_path / "run")


def test_the_test_part_is_judged_by_the_best_weights_before_any_average(
    train: Train, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spoiled = ("loop.swa_start=0.6", "loop.epochs=6", "loop.swa_lr=3.0", "optimizer.lr=0.05")
    checkpoint = train(tiny(CPU, *spoiled, "dataset.test_fraction=0.2"))
    train_by_script(export(checkpoint, tmp_path / "train.py"), tmp_path / "run")
    found = read_evaluation(RunFolder(checkpoint.parents[1]), "test")
    assert found is not None
    assert torch.load(tmp_path / "run" / "best.pt", weights_only=True)["progress"]["averages"] == 0
    assert torch.load(tmp_path / "run" / "last.pt", weights_only=True)["progress"]["averages"] > 0
    right, seen = sum(row[number] for number, row in enumerate(found.confusion)), sum(map(sum, found.confusion))
    assert capsys.readouterr().out.splitlines()[-1].endswith(f"Accuracy {right / seen:.2%}")
