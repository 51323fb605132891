"""The exported script steps every optimizer as the engine does."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.training.export.conftest import CPU, Train
from tests.training.export.test_script import assert_same_run, check_source, export, train_by_script
from tests.training.tiny import tiny, tiny_images

OPTIMIZERS = [
    ("nadam", "momentum_decay=0.01"),
    ("radam", "decoupled_weight_decay=false", "weight_decay=0.1"),
    ("adagrad", "lr_decay=0.01", "initial_accumulator_value=0.1"),
    ("rmsprop", "centered=true", "weight_decay=0.01"),
    ("rmsprop", "momentum=0.5", "eps=1e-6"),
    ("adafactor", "eps2=0.01", "d=2.0"),
    ("muon", "adamw_lr_factor=0.5", "ns_steps=4"),
    ("muon", "adjust_lr_fn=original", "layer_decay=0.8"),
    ("adamw", "layer_decay=0.5", "head_lr_factor=3.0"),
    ("sgd", "head_lr_factor=10.0", "lr=0.01"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("choice", "schedule"),
    [*((choice, "one_cycle") for choice in OPTIMIZERS), (OPTIMIZERS[4], "cosine"), (OPTIMIZERS[7], "cosine")],
    ids=str,
)
def test_every_optimizer(choice: tuple[str, ...], schedule: str, train: Train, tmp_path: Path) -> None:
    kind, *rest = choice
    settings = [f"optimizer.{setting}" for setting in rest]
    if schedule == "one_cycle":
        without = kind in ("adagrad", "adafactor")
        settings += ["schedule.max_lr=0.01", f"schedule.cycle_momentum={'false' if without else 'true'}"]
    config = tiny(CPU, f"schedule.kind={schedule}", f"optimizer.kind={kind}", *settings, "loop.max_steps=12")
    checkpoint = train(config)
    file = export(checkpoint, tmp_path / "train.py")
    check_source(file)
    train_by_script(file, tmp_path / "run")
    assert_same_run(checkpoint, tmp_path / "run")


def test_muon_over_filters(idx_folder: Path, train: Train, tmp_path: Path) -> None:
    checkpoint = train(tiny_images(idx_folder, CPU, "optimizer.kind=muon", "loop.epochs=1"))
    file = export(checkpoint, tmp_path / "train.py")
    check_source(file)
    train_by_script(file, tmp_path / "run")
    assert_same_run(checkpoint, tmp_path / "run")
