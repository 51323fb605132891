"""A small run of each task, on data made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tests.training.tiny import write_idx
from training.config import RunConfig, parse_config

Section = dict[str, Any]


def write_table(path: Path, rows: int = 200, seed: int = 0) -> Path:
    """Columns "size", "weight" (some missing), "color", "kind" (class), "height" (value), "a", "b", "c" (labels)."""
    draw = np.random.default_rng(seed)
    lines = ["size,weight,color,kind,height,a,b,c"]
    for _ in range(rows):
        size, weight = draw.normal(size=2)
        color = ("red", "green")[int(draw.random() < 0.5)]
        kind = ("oak", "ash", "elm")[int(size > 0) + int(weight > 0)]
        height = 300 + 40 * (size - weight) + 10 * (color == "red") + draw.normal()
        labels = ",".join(str(int(each)) for each in (size > 0.3, weight > 0, size > weight))
        missing = draw.random() < 0.05
        lines.append(f"{size:.4f},{'' if missing else f'{weight:.4f}'},{color},{kind},{height:.3f},{labels}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_masks(folder: Path, count: int = 12, size: int = 16) -> Path:
    """Bright squares on dark ground, with their masks."""
    draw = np.random.default_rng(0)
    for name in ("images", "masks"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for number in range(count):
        mask = np.zeros((size, size), np.uint8)
        top, left = draw.integers(0, size // 2, 2)
        mask[top : top + size // 2, left : left + size // 2] = 1
        noise = draw.integers(0, 60, (size, size, 3)).astype(np.uint8)
        Image.fromarray(noise + 120 * mask[..., None]).save(folder / "images" / f"{number:03d}.png")
        if number % 4 == 0:
            mask[:2] = 255
        Image.fromarray(mask).save(folder / "masks" / f"{number:03d}.png")
    return folder


def write_images(
    folder: Path, classes: tuple[str, ...] = ("cat", "dog", "owl"), each: int = 12, size: int = 12
) -> Path:
    """A folder for each class, whose images are bright in a corner of their own."""
    draw = np.random.default_rng(1)
    for number, name in enumerate(classes):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for image in range(each):
            pixels = draw.integers(0, 90, (size, size, 3)).astype(np.uint8)
            row, column = divmod(number, 2)
            half = size // 2
            pixels[row * half : (row + 1) * half, column * half : (column + 1) * half] += 120
            Image.fromarray(pixels).save(folder / name / f"{image:03d}.png")
    return folder


def write_ranked(path: Path, queries: int = 30, seed: int = 0) -> Path:
    """Columns "query", "size", "color" and "rank"; three to six rows of a query, which lie apart from each other."""
    draw = np.random.default_rng(seed)
    rows = [f"q{number:02d}" for number in range(queries) for _ in range(int(draw.integers(3, 7)))]
    lines = ["query,size,color,rank"]
    for name in draw.permutation(rows):
        size = draw.normal()
        color = ("red", "green")[int(draw.random() < 0.5)]
        lines.append(f"{name},{size:.4f},{color},{int(size > 0) + int(color == 'red')}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def write_text(path: Path, lines: int = 120) -> Path:
    """Sums that are right."""
    path.write_text(
        "".join(f"{a} + {b} = {a + b}\n" for a, b in ((n % 17, n % 13) for n in range(lines))), encoding="utf-8"
    )
    return path


def make_config(task: str, folder: Path, **sections: Section) -> RunConfig:
    """A run of well under a second or two; ``sections`` are taken over those of the task."""
    mlp: Section = {"kind": "mlp", "hidden": [16]}
    tabular: Section = {"kind": "tabular", "hidden": [16]}
    table: Section = {"kind": "table", "features": ["size", "weight", "color"], "path": str(folder / "table.csv")}
    tasks: dict[str, dict[str, Section]] = {
        "class": {"dataset": {"kind": "spiral", "samples": 300}, "model": mlp},
        "binary": {"dataset": {"kind": "moons", "samples": 300}, "model": mlp, "objective": {"kind": "binary"}},
        "labels": {
            "dataset": {**table, "targets": ["a", "b", "c"], "task": "labels"},
            "model": tabular,
            "objective": {"kind": "multi_label"},
        },
        "table class": {"dataset": {**table, "targets": ["kind"]}, "model": tabular},
        "values": {"dataset": {**table, "targets": ["height"]}, "model": tabular, "objective": {"kind": "regression"}},
        "tasks": {
            "dataset": {**table, "targets": ["kind", "height", "a"], "task": "tasks"},
            "model": tabular,
            "objective": {"kind": "multi_task"},
        },
        "images": {
            "dataset": {"kind": "image_folder", "path": str(folder / "images")},
            "model": {"kind": "small_cnn"},
            "objective": {"kind": "classification", "label_smoothing": 0.1},
        },
        "idx": {"dataset": {"kind": "idx", "path": str(folder / "idx")}, "model": {"kind": "small_cnn"}},
        "npz": {"dataset": {"kind": "npz", "path": str(folder / "rows.npz")}, "model": mlp},
        "image table": {
            "dataset": {"kind": "image_table", "path": str(folder / "images.csv")},
            "model": {"kind": "small_cnn"},
        },
        "embedding": {
            "dataset": {"kind": "image_folder", "path": str(folder / "images")},
            "model": {"kind": "small_cnn"},
            "objective": {"kind": "embedding", "embedding_size": 8},
        },
        "mask": {
            "dataset": {"kind": "segmentation", "path": str(folder / "masks")},
            "model": {"kind": "unet", "depth": 1, "width": 4},
            "objective": {"kind": "segmentation"},
        },
        "tokens": {
            "dataset": {"kind": "text", "path": str(folder / "text.txt"), "context": 16},
            "model": {"kind": "gpt", "layers": 1, "heads": 2, "width": 8},
            "objective": {"kind": "language_model"},
        },
        "ranks": {
            "dataset": {"kind": "ranked", "samples": 60},
            "model": mlp,
            "objective": {"kind": "ranking"},
        },
        "ranked table": {
            "dataset": {"kind": "ranking", "path": str(folder / "ranked.csv")},
            "model": tabular,
            "objective": {"kind": "ranking"},
        },
    }
    made: dict[str, Any] = {
        "name": task.replace(" ", "-"),
        "loop": {"epochs": 2, "batch_size": 16},
        "precision": {"device": "cpu", "threads": 1},
        **tasks[task],
    }
    for name, values in sections.items():
        made[name] = {**made.get(name, {}), **values}
    return parse_config(made)


TASKS = (
    "class",
    "binary",
    "labels",
    "table class",
    "values",
    "tasks",
    "images",
    "embedding",
    "mask",
    "tokens",
    "ranks",
)


def write_data(folder: Path) -> Path:
    """All that the tasks train on."""
    folder.mkdir(parents=True, exist_ok=True)
    write_table(folder / "table.csv")
    write_masks(folder / "masks")
    write_images(folder / "images")
    write_text(folder / "text.txt")
    write_ranked(folder / "ranked.csv")
    write_idx(folder / "idx")
    draw = np.random.default_rng(2)
    np.savez(folder / "rows.npz", x=draw.normal(size=(60, 4)).astype(np.float32), y=np.arange(60) % 3)
    files = sorted(path.relative_to(folder) for path in (folder / "images").rglob("*.png"))
    (folder / "images.csv").write_text("file,label\n" + "".join(f"{file},{file.parent.name}\n" for file in files))
    return folder
