"""Small data with three classes of every kind whose ``dataset.classes`` may name some; made on the spot."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.training.data.conftest import fill_class, write_idx

Make = Callable[[Path], dict[str, Any]]


def make_image_folder(place: Path) -> dict[str, Any]:
    """Training and validation images of 16 x 16 pixels."""
    for part, count in (("train", 9), ("val", 4)):
        for seed, name in enumerate(("apple", "bear", "crow")):
            fill_class(place / part / name, count, seed=100 * seed + count)
    return {"kind": "image_folder", "path": str(place)}


def _table_of_images(place: Path) -> dict[str, Any]:
    fill_class(place / "images", 18)
    rows = [f"{number:03}.png,{('apple', 'bear', 'crow')[number % 3]},{number % 5}" for number in range(18)]
    (place / "table.csv").write_text("\n".join(["file,name,group", *rows]) + "\n")
    settings = {"targets": ["name"], "images": str(place / "images")}
    return {"kind": "image_table", "path": str(place / "table.csv"), "group_column": "group", **settings}


def _idx(place: Path) -> dict[str, Any]:
    write_idx(place, "train", 30)
    write_idx(place, "t10k", 12)
    return {"kind": "idx", "path": str(place)}


def _npz(place: Path) -> dict[str, Any]:
    place.mkdir(parents=True, exist_ok=True)
    drawn, numbers = np.random.default_rng(0).normal(size=(30, 4)), np.arange(30) % 3
    names = np.array(["apple", "bear", "crow"])[numbers]
    np.savez(place / "a.npz", x=drawn[:24], y=names[:24], x_val=drawn[24:], y_val=names[24:])
    return {"kind": "npz", "path": str(place / "a.npz")}


def _npz_images(place: Path) -> dict[str, Any]:
    place.mkdir(parents=True, exist_ok=True)
    drawn = np.random.default_rng(0).integers(0, 256, (30, 6, 5), dtype=np.uint8)
    np.savez(place / "a.npz", x=drawn, y=np.arange(30) % 3)
    return {"kind": "npz_pictures", "path": str(place / "a.npz")}


def _table(place: Path) -> dict[str, Any]:
    place.mkdir(parents=True, exist_ok=True)
    drawn = np.random.default_rng(0).normal(size=(30, 2)).round(3)
    rows = [f"{a},{b},{number},{('apple', 'bear', 'crow')[number % 3]}" for number, (a, b) in enumerate(drawn)]
    (place / "a.csv").write_text("\n".join(["a,b,when,name", *rows, "1,2,30,"]) + "\n")
    return {"kind": "table", "path": str(place / "a.csv"), "time_column": "when"}


def _mnist(place: Path) -> dict[str, Any]:
    for prefix, count in (("train", 30), ("t10k", 12)):
        write_idx(place / "MNIST" / "raw", prefix, count)
    return {"kind": "torchvision", "name": "MNIST", "path": str(place), "download": False}


KINDS: dict[str, Make] = {
    "image_folder": make_image_folder,
    "image_table": _table_of_images,
    "idx": _idx,
    "npz": _npz,
    "npz_images": _npz_images,
    "table": _table,
    "MNIST": _mnist,
}
