"""The script of a run on a person's own Dataset: its samples beside it where they are always the same, else the Dataset itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.training.data.own_files import COLLATE, POINTS, RESULT, small_run, written
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


def compare_script(last: Path, script: Path) -> None:
    """The script is written, run from the beginning, and comes to the weights of the run."""
    export_checkpoint(last, "script", script)
    subprocess.run([sys.executable, str(script), "--out", "made"], cwd=script.parent, check=True, capture_output=True)
    theirs, ours = torch.load(script.parent / "made" / "last.pt")["model"], load_file(last / "model.safetensors")
    assert all(torch.equal(theirs[name], ours[name]) for name in ours)


@pytest.mark.slow
@pytest.mark.parametrize("images", [False, True])
def test_samples_that_stay_lie_beside_the_script(images: bool, tmp_path: Path) -> None:
    if images:
        dataset = written(tmp_path, IMAGES, "user_images", random_samples=False)
        config = small_run(dataset, model={"kind": "small_cnn", "channels": [4, 4], "hidden": 4})
    else:
        dataset = written(tmp_path, POINTS, random_samples=False, arguments={"noise": 0.0}, normalize=False)
        config = small_run(dataset)
    compare_script(trained(tmp_path, config), tmp_path / "out" / "train.py")


MASKS = IMAGES.replace(
    "return self.pixels[index] - 0.2, index % 2",
    "moved = self.pixels[index].roll(int(torch.randint(12, ())), 1)\n        return moved, (moved[0] > 0.5).long()",
)
DRAWN: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "three generators": (POINTS, {}, {"loop": {"batch_size": 16, "epochs": 2, "accumulation": 2}}),
    "drawn values": (
        POINTS.replace("int(self.labels[index])", "float(scaled.sum()) + random.random()"),
        {},
        {"objective": {"kind": "regression"}},
    ),
    "masks": (
        MASKS,
        {"kind": "user_images"},
        {"model": {"kind": "unet", "width": 4, "depth": 2}, "objective": {"kind": "segmentation"}},
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", DRAWN)
def test_samples_that_are_drawn_anew_are_drawn_alike_by_the_script(case: str, tmp_path: Path) -> None:
    text, dataset, sections = DRAWN[case]
    last = trained(tmp_path, small_run(written(tmp_path, text, **dataset), **sections))
    compare_script(last, tmp_path / "out" / "train.py")


def test_what_training_draws_is_proven_before_a_script_is_written(tmp_path: Path) -> None:
    """A file that draws while it is imported: the run seeds that, too, an import in a script does not."""
    text = POINTS.replace("class Points", "SHIFT = random.random()\n\n\nclass Points").replace(
        "moved = ", "moved = SHIFT + "
    )
    last = trained(tmp_path, small_run(written(tmp_path, text)))
    with pytest.raises(
        InputError, match=r"^dataset\.path: .* draws while it is imported; draw in build or __getitem__"
    ):
        export_checkpoint(last, "script", tmp_path / "out" / "train.py")
    assert not (tmp_path / "out").exists()


def test_a_collate_fn_is_refused_by_name(tmp_path: Path) -> None:
    text = COLLATE.replace("RESULT", RESULT).replace("1 + index % 5", "4")
    last = trained(tmp_path, small_run(written(tmp_path, text)))
    with pytest.raises(
        InputError, match=r"dataset\.path: a script does not repeat the batches of the file's collate_fn"
    ):
        export_checkpoint(last, "script", tmp_path / "out" / "train.py")
    assert not (tmp_path / "out").exists()
    assert export_checkpoint(last, "safetensors", tmp_path / "weights").max_difference < 1e-6
