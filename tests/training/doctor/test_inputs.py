"""Numbers that are none, scales a network cannot work with, equal samples of different classes, too few to validate on."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.training.data.own_files import written
from tests.training.tiny import tiny, write_idx
from training.config import RunConfig, parse_config
from training.doctor import preflight
from training.doctor.inputs import input_findings
from training.engine.assemble import assemble
from training.events import Finding

ROWS = """
import torch


class Rows(torch.utils.data.Dataset):
    def __init__(self):
        self.x = torch.randn(200, 4, generator=torch.Generator().manual_seed(0))
        CHANGE

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return self.x[index], index % 2


def build(split: str):
    return Rows() if split == "train" else None
"""


def look(config: RunConfig, folder: Path) -> dict[str, Finding]:
    return {item.key: item for item in preflight(config, folder / "w") if item.level in ("warning", "error")}


def images(folder: Path, change: Callable[[NDArray[np.uint8]], None] = lambda images: None) -> RunConfig:
    """Gray images of 12 pixels in four classes, of which ``change`` makes others."""
    write_idx(folder / "data")
    path = folder / "data/train-images-idx3-ubyte.gz"
    content = bytearray(gzip.decompress(path.read_bytes()))
    change(np.frombuffer(content, np.uint8)[16:].reshape(-1, 144))
    path.write_bytes(gzip.compress(content))
    return tiny(
        "dataset.kind=idx", f"dataset.path={folder / 'data'}", "model.kind=small_cnn", "dataset.validation=split"
    )


@pytest.mark.parametrize(
    ("change", "key", "level"),
    [
        ("self.x[:, 2] += 50", "data.scale", "warning"),
        ("self.x *= 1000", "data.scale", "warning"),
        ("self.x[:, 1] /= 1000", "data.scale", "warning"),
        ("self.x = self.x / 4 + 0.5", "", ""),
        ("self.x[:, 3] = 0", "", ""),
    ],
)
def test_inputs_that_nobody_normalizes(tmp_path: Path, change: str, key: str, level: str) -> None:
    dataset = written(tmp_path, ROWS.replace("CHANGE", change), normalize=False)
    config = parse_config({"dataset": dataset, "model": {"kind": "mlp", "hidden": [8]}, "loop": {"epochs": 2}})
    found = {item.key: item for item in input_findings_of(config)}
    assert [(name, item.level) for name, item in found.items()] == ([(key, level)] if key else [])
    if key == "data.scale":
        assert found[key].fix == {"dataset.normalize": True}
        mended = {**dataset, "normalize": True}
        assert not input_findings_of(parse_config({"dataset": mended, "model": {"kind": "mlp"}}))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (ROWS.replace("CHANGE", "self.x[7] = torch.nan"), "data.nonfinite"),
        (
            ROWS.replace("CHANGE", "self.classes = ['odd', 'even']").replace("index % 2", "index % 3"),
            "data.label_range",
        ),
        (ROWS.replace("CHANGE", "").replace("index % 2", "index % 2 + 3"), "data.label_range"),
    ],
)
def test_samples_that_cannot_be_trained_on_name_the_cause(tmp_path: Path, text: str, code: str) -> None:
    dataset = written(tmp_path, text, normalize=False)
    found = look(parse_config({"dataset": dataset, "model": {"kind": "mlp", "hidden": [8]}}), tmp_path)
    assert [(key, item.level) for key, item in found.items()] == [(code, "error")]


def test_a_first_loss_that_is_not_finite_names_the_operation(tmp_path: Path) -> None:
    lines = "from torch import nn\n\n\nclass Logs(nn.Module):\n    def forward(self, x):\n        return x.abs().sub(9).log()\n\n\n"
    build = "def build(features: int, outputs: int):\n    return nn.Sequential(Logs(), nn.Linear(features, outputs))\n"
    model = written(tmp_path, lines + build, "user_file")
    found = look(parse_config({"dataset": {"kind": "moons", "samples": 200}, "model": model}), tmp_path)
    first = found["loss.nonfinite:0"]
    assert first.level == "error"
    assert "log in 0 (Logs) made NaN of finite numbers" in first.title
    assert "line 6" in first.advice


def input_findings_of(config: RunConfig) -> list[Finding]:
    session = assemble(config, lambda text, share: None)
    try:
        return input_findings(session.data)
    finally:
        session.data.close()


def test_equal_images_of_different_classes(tmp_path: Path) -> None:
    def repeat(images: NDArray[np.uint8]) -> None:
        images[:20] = images[0]

    found = look(images(tmp_path, repeat), tmp_path)["data.conflicting_labels"]
    assert found.evidence["samples"] > 5  # type: ignore[operator]


def test_images_of_which_nothing_is_said(tmp_path: Path) -> None:
    assert not {"data.conflicting_labels", "data.scale"} & look(images(tmp_path), tmp_path).keys()


def test_images_without_content(tmp_path: Path) -> None:
    def blacken(images: NDArray[np.uint8]) -> None:
        images[:] = 7

    assert look(images(tmp_path, blacken), tmp_path)["data.scale"].level == "error"


def test_few_samples_to_validate_on(tmp_path: Path) -> None:
    found = look(tiny("dataset.samples=100", "dataset.validation_fraction=0.1"), tmp_path)
    assert found["validation.tiny"].fix == {"dataset.validation_fraction": 0.2}
    assert "validation.tiny" not in look(tiny("dataset.samples=100"), tmp_path)


@pytest.mark.parametrize(("row", "found"), [("1,inf,2", True), ("1,,2", False), ("1,1e30,2", False)])
def test_a_number_that_is_none(tmp_path: Path, row: str, found: bool) -> None:
    x = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    x[7] = [float(cell or "nan") for cell in row.split(",")]
    np.savez(tmp_path / "x.npz", x_train=x, y_train=np.arange(60) % 2)
    config = tiny("dataset.kind=npz", f"dataset.path={tmp_path / 'x.npz'}", "model.kind=mlp", "loop.batch_size=8")
    errors = [key for key, item in look(config, tmp_path).items() if item.level == "error"]
    assert errors == (["data.nonfinite"] if found else [])
