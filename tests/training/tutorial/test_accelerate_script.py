"""The short script by Accelerate: in one process on the CPU it ends with the weights of the plain one."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import torch

from tests.training.tiny import tiny, tiny_images, write_idx
from tests.training.tutorial.scripts import complaints, run, write


def test_is_clean_and_says_accelerate(tmp_path: Path) -> None:
    script = write(tiny("loop.accumulation=2"), tmp_path, "accelerate")
    assert not complaints(script)
    for words in (
        "accelerator.prepare(",
        "accelerator.accumulate(",
        "accelerator.backward(",
        "accelerator.clip_grad_norm_(",
    ):
        assert words in script.read_text()


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("accelerate") is None, reason="accelerate is not installed")
@pytest.mark.parametrize("data", ["points", "images", "bf16"])
def test_ends_with_the_same_weights(data: str, tmp_path: Path) -> None:
    config = tiny(
        "loop.accumulation=2", "precision.device=cpu", f"precision.compute={'bf16' if data == 'bf16' else 'fp32'}"
    )
    if data == "images":
        config = tiny_images(write_idx(tmp_path / "idx"), "precision.device=cpu")
    ends = []
    for to in ("tutorial", "accelerate"):
        script = write(config, tmp_path / to, to)
        run(script)
        ends.append(torch.load(script.with_name("script-last.pt"), weights_only=True)["model"])
    assert all(torch.equal(ends[0][name], ends[1][name]) for name in ends[0])
