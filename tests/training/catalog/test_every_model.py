"""Every model of the catalog trains two steps, is saved, goes on to the same bits, and is exported."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.cases import first_of
from tests.training.catalog.whole_way import export, train_and_resume
from training.catalog import MODELS
from training.config import RunConfig, parse_config
from training.config.consent import agree

TEXT = "the quick brown fox jumps over the lazy dog, and the dog barks. " * 20
OWN = "from torch import nn\ndef build(channels, classes, width: int = 4):\n    return nn.Sequential(nn.Conv2d(channels, width, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, classes))\n"

SMALL: dict[str, dict[str, Any]] = {
    "small_cnn": {"channels": [4, 8], "hidden": 16, "norm": "batch", "dropout": 0.1},
    "whitened_cnn": {"channels": [8, 16, 16]},
    "mlp": {"hidden": [16], "norm": "layer", "dropout": 0.1},
    "tabular": {},
    "unet": {},
    "torchvision": {"name": "squeezenet1_1"},
    "torchvision_segmentation": {"name": "lraspp_mobilenet_v3_large"},
    "timm": {"name": "resnet18"},
    "user_file": {},
    "gpt": {"layers": 1, "width": 16, "heads": 2},
}
CLASSIFIERS = (
    "densenet121",
    "googlenet",
    "swin_t",
)  # memory of its own, other outputs, attention; others: the zoos' tests
SEGMENTERS = ("deeplabv3_mobilenet_v3_large",)
TIMM = ("vit_tiny_patch16_224",)


def data_for(kind: str, folder: Path, side: int = 16) -> tuple[dict[str, Any], dict[str, Any]]:
    """The smallest data, and its task, that suits a kind of model."""
    if kind == "gpt":
        (folder / "text.txt").write_text(TEXT, encoding="utf-8")
        return {"kind": "text", "path": str(folder / "text.txt"), "context": 16}, {"kind": "language_model"}
    if kind in ("unet", "torchvision_segmentation"):
        return _masks(folder / "masks", side), {"kind": "segmentation"}
    if kind == "tabular":
        return {"kind": "spiral", "samples": 60}, {}
    return {"kind": "shapes", "samples": 60, "image_size": side}, {}


def _masks(folder: Path, side: int) -> dict[str, Any]:
    numbers = np.random.default_rng(0)
    for name in ("images", "masks"):
        (folder / name).mkdir(parents=True)
    for index in range(12):
        mask = (np.arange(side) * 3 // side)[:, None].repeat(side, 1).astype(np.uint8)
        Image.fromarray(mask).save(folder / "masks" / f"{index}.png")
        image = mask[..., None] * 80 + numbers.integers(0, 60, (side, side, 3)).astype(np.uint8)
        Image.fromarray(image.astype(np.uint8)).save(folder / "images" / f"{index}.png")
    return {"kind": "segmentation", "path": str(folder), "image_size": [side, side]}


def small(kind: str, folder: Path, side: int = 16, **settings: Any) -> RunConfig:
    dataset, objective = data_for(kind, folder, side)
    if kind == "user_file":
        (folder / "network.py").write_text(OWN, encoding="utf-8")
        digest = hashlib.sha256(OWN.encode()).hexdigest()
        agree(digest, "network.py")
        settings |= {"path": str(folder / "network.py"), "trusted": digest, "arguments": {"width": 3}}
    return parse_config(
        {
            "dataset": dataset,
            "objective": objective,
            "model": {"kind": kind, **(SMALL[kind] | settings)},
            "schedule": {"kind": "constant"},
            "optimizer": {"kind": "sgd", "lr": 0.01},
            "loop": {"epochs": 1, "max_steps": 2, "batch_size": 4, "ema_decay": 0.9},
            "checkpoints": {"every_steps": 1},
            "precision": {"device": "cpu"},
        }
    )


def test_every_row_has_a_small_form() -> None:
    assert {row.kind for row in MODELS} == set(SMALL)


@pytest.mark.parametrize("kind", first_of(SMALL))
def test_trains_and_goes_on_to_the_same_bits(kind: str, tmp_path: Path) -> None:
    side = 32 if kind in ("torchvision", "timm", "torchvision_segmentation") else 16
    last = train_and_resume(small(kind, tmp_path, side), tmp_path / "runs", step=1)
    export(last, tmp_path / "exported")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *(("torchvision", name) for name in CLASSIFIERS),
        *(("torchvision_segmentation", name) for name in SEGMENTERS),
        *(("timm", name) for name in TIMM),
    ],
)
def test_every_family_of_the_zoos(kind: str, name: str, tmp_path: Path) -> None:
    side = 96 if kind == "torchvision" else 32
    last = train_and_resume(small(kind, tmp_path, side, name=name), tmp_path / "runs", step=1)
    export(last, tmp_path / "exported")
