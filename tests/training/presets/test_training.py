"""Every preset trains: a few steps on data that is made on the spot, by the command line, and resumes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.cases import first_of
from tests.training.commands import Captured, json_line
from tests.training.tiny import write_idx
from training.cli import main
from training.presets import PRESETS, Preset, preset_text
from training.toml_text import read_table, read_toml


def write_classes(folder: Path, size: int = 32) -> Path:
    """Twelve images of each of two classes."""
    generator = np.random.default_rng(0)
    for number, name in enumerate(("cat", "dog")):
        (folder / name).mkdir(parents=True)
        for index in range(12):
            pixels = generator.integers(0, 120, (size, size, 3), dtype=np.uint8) + np.uint8(120 * number)
            Image.fromarray(pixels).save(folder / name / f"{index}.png")
    return folder


def write_masks(folder: Path) -> Path:
    """Twelve images whose right half is class 1."""
    generator = np.random.default_rng(0)
    mask = np.zeros((32, 48), np.uint8)
    mask[:, 24:] = 1
    for name in ("images", "masks"):
        (folder / name).mkdir(parents=True)
    for index in range(12):
        pixels = generator.integers(0, 120, (32, 48, 3), dtype=np.uint8) + 120 * mask[:, :, None]
        Image.fromarray(pixels.astype(np.uint8)).save(folder / "images" / f"{index}.png")
        Image.fromarray(mask).save(folder / "masks" / f"{index}.png")
    return folder


def write_labels(folder: Path) -> Path:
    """Images with two labels: none, either or both."""
    images = sorted(path.relative_to(folder) for path in write_classes(folder).rglob("*.png"))
    lines = [f"{path},{('', 'striped', 'round', 'striped round')[index % 4]}" for index, path in enumerate(images)]
    (folder / "labels.csv").write_text("\n".join(["file,tags", *lines]) + "\n")
    return folder / "labels.csv"


def write_table(folder: Path, last: Callable[[int], object]) -> Path:
    """Sixty rows of a number, a text and a gap now and then; ``last`` makes the target."""
    rows = [
        f"{index % 7},{'ab'[index % 2]},{'' if index % 9 == 0 else index * 0.5},{last(index)}" for index in range(60)
    ]
    folder.mkdir()
    (folder / "table.csv").write_text("\n".join(["count,color,size,target", *rows]) + "\n")
    return folder / "table.csv"


def write_queries(folder: Path) -> Path:
    """Twenty queries of three rows."""
    rows = [f"q{index // 3},{index % 5},{(index * 7) % 4 + 0.5},{index % 3}" for index in range(60)]
    folder.mkdir()
    (folder / "results.csv").write_text("\n".join(["query,age,length,suits", *rows]) + "\n")
    return folder / "results.csv"


def write_text(folder: Path) -> Path:
    """Forty thousand letters."""
    folder.mkdir()
    (folder / "text.txt").write_text("The quick brown fox jumps over the lazy dog.\n" * 900)
    return folder / "text.txt"


NETWORK = """
from torch import nn


def build(channels: int, classes: int, width: int = 4) -> nn.Module:
    return nn.Sequential(nn.Conv2d(channels, width, 8, 8), nn.ReLU(), nn.Flatten(), nn.Linear(64 * width, classes))
"""


def idx(folder: Path) -> Path:
    return write_idx(folder, samples=1200)


DATA: dict[str, Callable[[Path], Path]] = {
    "mnist": idx,
    "pictures": write_classes,
    "resnet": write_classes,
    "vit": write_classes,
    "cifar10": write_classes,
    "own-network": write_classes,
    "labels": write_labels,
    "segmentation": write_masks,
    "distillation": idx,
    "table-classes": lambda folder: write_table(folder, lambda index: ("no", "yes")[index % 2]),
    "table-values": lambda folder: write_table(folder, lambda index: index * 1.5),
    "ranking": write_queries,
    "gpt": write_text,
    **{row.name: idx for row in PRESETS if row.name.startswith("lab-")},
}
SMALLER = {
    "sample": ["dataset.samples=300"],
    "resnet": ["model.pretrained=none", "loop.batch_size=4"],  # no network in tests
    "vit": ["loop.batch_size=2", "loop.validation_batch_size=4"],
    "cifar10": ["loop.batch_size=8"],
    "gpt": ["loop.batch_size=4"],
    "segmentation": ["model.width=8"],
}


def sets(row: Preset, tmp_path: Path) -> list[str]:
    """What ``row`` has to be given here, as options."""
    given = {"dataset.path": DATA[row.name](tmp_path / "data")} if row.name in DATA else {}
    if any(ask.setting == "objective.teacher" for ask in row.asks):
        given["objective.teacher"] = tmp_path / "teacher"
    if any(ask.setting == "model.path" for ask in row.asks):
        given["model.path"] = tmp_path / "network.py"
        given["model.path"].write_text(NETWORK)
    assert set(given) == {ask.setting for ask in row.asks}
    texts = [f"{setting}={path}" for setting, path in given.items()] + SMALLER.get(row.name, [])
    if "warmup" in read_table(read_toml(preset_text(row.name), row.name), "schedule"):
        texts.append("schedule.warmup=1")
    agreed = ["--trust"] if "model.path" in given else []
    return [*(word for text in texts for word in ("--set", text)), *agreed]


@pytest.mark.parametrize("row", first_of(PRESETS, 2), ids=lambda row: row.name)
def test_a_preset_trains_and_goes_on(row: Preset, tmp_path: Path, capsys: Captured) -> None:
    if row.name == "vit":
        pytest.importorskip("timm")
    options = sets(row, tmp_path)
    if row.name == "distillation":
        teacher = ["run", "preset:mnist", *options[:2], "--set", "loop.max_steps=2", "--json"]
        assert main(teacher) == 0
        Path(json_line(capsys)["folder"]).rename(tmp_path / "teacher")
    assert main(["run", f"preset:{row.name}", *options, "--set", "loop.max_steps=3", "--json"]) == 0
    record = json_line(capsys)
    assert record["status"] == "completed"
    assert record["step"] == 3
    assert record["skipped_steps"] == 0
    assert record["metrics"]["val/loss"] == record["metrics"]["val/loss"]  # a number
    assert record["best"]["metric"].startswith("val/")
    assert main(["resume", record["run"], "--json"]) == 0
    assert json_line(capsys)["metrics"] == record["metrics"]
