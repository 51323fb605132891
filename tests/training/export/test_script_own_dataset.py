"""The script of a run on a person's own Dataset: its samples beside it where they are always the same, refused where they are not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.training.data.own_files import POINTS, small_run, written
from training.config import RunConfig
from training.engine.runs.run import start_run
from training.errors import InputError
from training.export import export_checkpoint

IMAGES = """
import torch
from torch.utils.data import Dataset


class Squares(Dataset):
    def __init__(self):
        self.pixels = torch.rand(40, 3, 12, 12)

    def __len__(self):
        return len(self.pixels)

    def __getitem__(self, index):
        return self.pixels[index] - 0.2, index % 2


def build(split: str):
    return Squares() if split == "train" else None
"""


def trained(folder: Path, config: RunConfig) -> Path:
    record = start_run(config, folder / "runs")
    assert record.status == "completed", record.reason
    (folder / "data.py").unlink()  # the run keeps what it needs
    return Path(str(record.last_checkpoint))


@pytest.mark.slow
@pytest.mark.parametrize("images", [False, True])
def test_samples_that_stay_lie_beside_the_script(images: bool, tmp_path: Path) -> None:
    if images:
        dataset = written(tmp_path, IMAGES, "user_images", random_samples=False)
        config = small_run(dataset, model={"kind": "small_cnn", "channels": [4, 4], "hidden": 4})
    else:
        dataset = written(tmp_path, POINTS, random_samples=False, arguments={"noise": 0.0}, normalize=False)
        config = small_run(dataset)
    last = trained(tmp_path, config)
    script = tmp_path / "out" / "train.py"
    export_checkpoint(last, "script", script)
    subprocess.run([sys.executable, str(script), "--out", "made"], cwd=script.parent, check=True, capture_output=True)
    theirs, ours = torch.load(script.parent / "made" / "last.pt")["model"], load_file(last / "model.safetensors")
    assert all(torch.equal(theirs[name], ours[name]) for name in ours)


def test_samples_that_are_drawn_anew_are_refused_by_name(tmp_path: Path) -> None:
    last = trained(tmp_path, small_run(written(tmp_path, POINTS)))
    with pytest.raises(
        InputError, match=r"dataset\.random_samples: a script does not repeat what the Dataset draws in each epoch"
    ):
        export_checkpoint(last, "script", tmp_path / "out" / "train.py")
    assert not (tmp_path / "out").exists()
    assert export_checkpoint(last, "safetensors", tmp_path / "weights").max_difference == 0.0
