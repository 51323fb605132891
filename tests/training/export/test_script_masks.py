"""Scripts that learn masks: every loss, what is measured, networks of ours and torchvision's, variation of both."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.training.catalog.task_samples import small
from tests.training.export.conftest import CPU, Train
from tests.training.export.test_script import assert_same_run, check_source, export, train_by_script

ACCUMULATED = ("loop.batch_size=5", "loop.accumulation=3")
LRASPP = "model={kind='torchvision_segmentation', name='lraspp_mobilenet_v3_large'}"
FORMS: dict[str, tuple[str, ...]] = {
    "dice in fp16": (
        *ACCUMULATED,
        "objective.loss=dice",
        "precision.compute=fp16",
        "checkpoints.monitor=val/pixel_accuracy",
    ),
    "both, varied": (
        *ACCUMULATED,
        "objective.loss=dice_cross_entropy",
        "objective.balanced=true",
        "dataset.brightness=0.2",
        "dataset.rotation=20",
        "dataset.flip=true",
        "checkpoints.monitor=val/dice",
    ),
    "one logit, erased": (
        "objective.loss=dice_bce",
        "objective.class_weights=[1, 2]",
        "dataset.erasing=0.5",
        "model.up=transposed",
        "model.norm=group",
    ),
    "torchvision's": (LRASPP, "loop.max_steps=2"),
}


@pytest.mark.parametrize(
    "form",
    [
        pytest.param(form, marks=pytest.mark.slow) if form in ("both, varied", "torchvision's") else form
        for form in FORMS
    ],
)
def test_masks(form: str, train: Train, tmp_path: Path) -> None:
    checkpoint = train(small("segmentation", tmp_path / "data", CPU, *FORMS[form]))
    file = export(checkpoint, tmp_path / "train.py")
    check_source(file)
    train_by_script(file, tmp_path / "run")
    assert_same_run(checkpoint, tmp_path / "run")
