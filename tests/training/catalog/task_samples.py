"""A small run for each task, over data that is written or made on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tests.training.data.text_sample import write_text
from training.config import RunConfig, apply_overrides, parse_config

Written = dict[str, Any]
LIGHT: Written = {"kind": "mlp", "hidden": [16], "dropout": 0.1}


def small(kind: str, folder: Path, *overrides: str, teacher: Path | None = None) -> RunConfig:
    """Four steps of the task ``kind``, with dropout where the network has it; files are written into ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    choices: dict[str, tuple[Written, Written, Written]] = {
        "classification": (made("blobs"), LIGHT, {}),
        "binary": (made("moons"), LIGHT, {}),
        "multi_label": (table(folder), LIGHT, {}),
        "regression": (table(folder), LIGHT, {}),
        "multi_task": (table(folder), LIGHT, {"weights": [1.0, 0.5]}),
        "ranking": (made("ranked"), LIGHT, {}),
        "distillation": (made("blobs"), LIGHT, {"teacher": str(teacher or folder)}),
        "embedding": (made("blobs"), LIGHT, {"embedding_size": 4}),
        "segmentation": (masks(folder), {"kind": "unet", "depth": 1, "width": 4, "dropout": 0.1}, {}),
        "language_model": (
            {"kind": "text", "path": str(write_text(folder)), "context": 16},
            {"kind": "gpt", "layers": 1, "heads": 2, "width": 16, "dropout": 0.1},
            {},
        ),
    }
    dataset, model, objective = choices[kind]
    if kind in ("multi_label", "regression", "multi_task"):
        task = {
            "multi_label": ("labels", ["big", "bright"]),
            "regression": ("values", ["sum", "product"]),
            "multi_task": ("tasks", ["big", "sum"]),
        }[kind]
        ignored = [name for name in ("big", "bright", "sum", "product") if name not in task[1]]
        dataset = {**dataset, "task": task[0], "targets": task[1], "ignored": ignored}
    data: Written = {
        "name": kind,
        "dataset": dataset,
        "model": dict(model),  # the overrides of one test must not reach the next
        "objective": {"kind": kind, **objective},
        "loop": {"batch_size": 12, "max_steps": 4},
        "precision": {"device": "cpu"},
        "checkpoints": {"every_steps": 2},
    }
    apply_overrides(data, overrides)
    return parse_config(data)


def made(kind: str) -> Written:
    return {"kind": kind, "samples": 90}


def table(folder: Path, count: int = 90) -> Written:
    """Rows of three numbers, with labels and values that follow from them."""
    numbers = np.random.default_rng(0).normal(size=(count, 3))
    rows = ["one,two,three,big,bright,sum,product"]
    for one, two, three in numbers:
        labels = f"{int(one > 0.3)},{int(two + three > 0)}"
        rows.append(f"{one:.6f},{two:.6f},{three:.6f},{labels},{1000 + 30 * (one + two):.6f},{one * three:.6f}")
    (folder / "table.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    return {"kind": "table", "path": str(folder / "table.csv")}


def masks(folder: Path, count: int = 20) -> Written:
    """Images of 16 x 16 pixels whose bright half is a class of its own, with a border that is to be ignored."""
    random = np.random.default_rng(0)
    for part in ("images", "masks"):
        (folder / part).mkdir(exist_ok=True)
    (folder / "classes.txt").write_text("dark\nbright\n", encoding="utf-8")
    for number in range(count):
        mask = np.zeros((16, 16), np.uint8)
        mask[:, : int(random.integers(4, 12))] = 1
        image = (random.integers(0, 100, (16, 16, 3)) + 120 * mask[..., None]).astype(np.uint8)
        mask[0] = 255
        Image.fromarray(image).save(folder / "images" / f"{number}.png")
        Image.fromarray(mask).save(folder / "masks" / f"{number}.png")
    return {"kind": "segmentation", "path": str(folder)}
