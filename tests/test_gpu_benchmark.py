"""``tests.benchmarks.gpu`` where there is no GPU: it says so; and what watches for waiting catches it. No timing is judged."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.benchmarks.gpu.no_sync import jobs
from tests.benchmarks.gpu.part import Part
from tests.benchmarks.gpu.sizes import SMALL
from tests.benchmarks.gpu.watched import watch

ON = "cuda" if torch.cuda.is_available() else "cpu"


def start(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.benchmarks.gpu", *arguments]
    root = Path(__file__).parents[1]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.slow
@pytest.mark.skipif(torch.cuda.is_available(), reason="for machines without a GPU")
def test_without_a_gpu_it_is_said_in_a_sentence(tmp_path: Path) -> None:
    done = start("--out", str(tmp_path / "out"))
    assert done.returncode == 1
    assert done.stderr.startswith("torch finds no cuda here")
    assert "--device cpu --small" in done.stderr
    assert not (tmp_path / "out").exists()


def test_an_unknown_part_is_refused(tmp_path: Path) -> None:
    done = start("--only", "resnet", "--out", str(tmp_path / "out"))
    assert done.returncode == 2
    assert "resnet: choose from resnet50, no-sync, cifar10, streamed" in done.stderr


@pytest.mark.parametrize("careless", [False, True])
def test_a_value_that_is_read_in_a_step_is_noticed(tmp_path: Path, careless: bool) -> None:
    threads = torch.get_num_threads()
    config: dict[str, Any] = next(iter(jobs(SMALL, ON).values()))
    try:
        found = watch({**config, "dataset": {"kind": "shapes", "samples": 600}}, 8, tmp_path, careless)
    finally:
        torch.set_num_threads(threads)
    if ON == "cuda":
        assert bool(found["waited"]) is careless
    else:  # the clip, the guard and who notices a skipped step look at the norm: that is free on a CPU
        assert found["reads"] == found["steps"] * (4 if careless else 3)
    assert careless or found["steps"] == 8


def test_a_missed_bar_stands_in_the_text() -> None:
    part = Part(
        "Title", ("", "speed"), [("ours", "1")], [("Fast.", True), ("Quiet.", False), ("Told.", None)], {}, ["Said."]
    )
    assert part.text().splitlines() == [
        "## Title",
        "",
        "|  | speed |",
        "|---|---|",
        "| ours | 1 |",
        "",
        "* Fast. **Held.**",
        "* Quiet. **Missed.**",
        "* Told.",
        "* Said.",
    ]
    assert "Held" not in part.text(judged=False)
    assert "Missed" not in part.text(judged=False)
