"""The short script by Accelerate: in one process on the CPU it ends with the weights of the plain one, and several share its batches."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.training.tiny import tiny, tiny_images, write_idx
from tests.training.tutorial.scripts import complaints, run, write, write_trees


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


CASES = {"bf16": ("loop.accumulation=2", "precision.compute=bf16", "loop.clip_value=0.001", "loop.clip_norm=0.1")}


@pytest.mark.slow
@pytest.mark.parametrize("case", [*CASES, "images", "several targets"])
def test_ends_with_the_same_weights(case: str, tmp_path: Path) -> None:
    if case == "images":
        config = tiny_images(write_idx(tmp_path / "idx"), "precision.device=cpu", "loop.clip_norm=0.1", "loop.epochs=2")
    elif case == "several targets":
        weights = "objective.weights=[1, 2, 0.5, 1]"
        config = write_trees(tmp_path, weights, "loop.accumulation=2", "loop.epochs=2")
    else:
        config = tiny("precision.device=cpu", "loop.epochs=2", *CASES[case])
    ends = []
    for to in ("tutorial", "accelerate"):
        script = write(config, tmp_path / to, to)
        run(script)
        ends.append(torch.load(script.with_name("script-last.pt"), weights_only=True)["model"])
    assert all(torch.equal(ends[0][name], ends[1][name]) for name in ends[0])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="torch's launcher does not work on Windows")
def test_runs_in_several_processes_with_the_batches_of_one(tmp_path: Path) -> None:
    script = write(tiny("precision.device=cpu", "loop.epochs=2"), tmp_path, "accelerate")
    told = []
    for launcher in ((), ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")):
        command = [sys.executable, *launcher, script.name]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        told.append([line for line in ended.stdout.splitlines() if line.startswith(("epoch", "best"))])
        assert torch.load(script.with_name("script-last.pt"), weights_only=True)["progress"][0] == 2
    alone, shared = told
    assert len(shared) == len(alone) == 3, shared  # one of them prints
    assert [line.rpartition("lr ")[2] for line in shared[:2]] == [line.rpartition("lr ")[2] for line in alone[:2]]
