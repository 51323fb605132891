"""Filters that step further than their images reach, whose gradients torch gets wrong in bf16 on a processor."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.training.tiny import tiny
from training.doctor import preflight
from training.engine.runs.run import start_run
from training.errors import InputError

RESNET = (
    "dataset.kind=shapes",
    "dataset.samples=60",
    "model.kind=torchvision",
    "model.name=resnet18",
    "loop.max_steps=1",
    "precision.device=cpu",
)


@pytest.mark.slow
def test_a_step_over_a_single_pixel_is_refused_in_bf16(tmp_path: Path) -> None:
    small = (*RESNET, "dataset.image_size=16", "precision.compute=bf16")
    with pytest.raises(InputError, match=r"a step longer than the 1 × 1 values it gets, .* wrongly in bf16") as refused:
        start_run(tiny(*small), tmp_path)
    assert refused.value.fix == {"precision.compute": "fp32"}
    [found] = preflight(tiny(*small), tmp_path)
    assert (found.level, found.fix) == ("error", {"precision.compute": "fp32"})
    assert start_run(tiny(*small, "precision.compute=fp32"), tmp_path).status == "completed"


@pytest.mark.slow
def test_larger_images_are_taken_in_bf16(tmp_path: Path) -> None:
    assert start_run(tiny(*RESNET, "dataset.image_size=40", "precision.compute=bf16"), tmp_path).status == "completed"
