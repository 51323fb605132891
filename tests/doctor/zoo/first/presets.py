"""The presets that a small machine trains in seconds, on data that suits them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.doctor.zoo.case import Healthy, Settings
from tests.doctor.zoo.draws import (
    Columns,
    draw_flowers,
    draw_houses,
    draw_shapes,
    draw_text,
    tagged,
    write_masks,
    write_shapes,
    write_table,
)
from tests.doctor.zoo.first.networks import CNN
from training.presets import preset_text
from training.toml_text import read_toml


def preset(name: str, write: Callable[[Path], Settings]) -> Callable[[Path], Settings]:
    """The preset's settings, with those that ``write`` answers."""

    def whole(folder: Path) -> Settings:
        settings: Settings = {}
        for section, value in read_toml(preset_text(name), name).items():
            if isinstance(value, dict):
                settings |= {f"{section}.{key}": item for key, item in value.items()}
        return settings | write(folder)

    return whole


def digits(folder: Path) -> Settings:
    """Gray shapes as idx files, 16 x 16."""
    (folder / "idx").mkdir()
    drawn = np.concatenate(list(draw_shapes(1300, 16, 4, 0, 15.0).values()))[..., 0]
    labels = np.repeat(np.arange(4, dtype=np.uint8), 1300)
    order = np.random.default_rng(0).permutation(len(labels))
    for part, rows in (("train", order[:4800]), ("t10k", order[4800:])):
        header = np.array([0x803, len(rows), 16, 16], ">u4").tobytes()
        (folder / "idx" / f"{part}-images-idx3-ubyte").write_bytes(header + drawn[rows].tobytes())
        start = np.array([0x801, len(rows)], ">u4").tobytes()
        (folder / "idx" / f"{part}-labels-idx1-ubyte").write_bytes(start + labels[rows].tobytes())
    return {"dataset.path": "idx"}


def lab(folder: Path) -> Settings:
    return digits(folder) | {"model.channels": [16, 32]}


def flowers(folder: Path) -> Settings:
    write_table(folder / "table.csv", draw_flowers(300))
    return {"dataset.path": "table.csv", "dataset.targets": ["species"], "loop.epochs": 60}


def houses(folder: Path) -> Settings:
    write_table(folder / "table.csv", draw_houses(1500))
    return {"dataset.path": "table.csv", "dataset.targets": ["price"], "model.hidden": [128, 128]}


def queries(folder: Path) -> Settings:
    draws = np.random.default_rng(0)
    values = draws.normal(0, 1, (2400, 3))
    score = values[:, 0] - 0.7 * values[:, 1] + draws.normal(0, 0.3, 2400)
    columns: Columns = {
        "query": [f"q{row // 6}" for row in range(2400)],
        "price": values[:, 0],
        "distance": values[:, 1],
        "stars": values[:, 2],
        "relevance": np.digitize(score, (-1.0, 0.0, 1.2)),
    }
    write_table(folder / "results.csv", columns)
    return {"dataset.path": "results.csv", "dataset.targets": ["relevance"], "loop.epochs": 15}


def labels(folder: Path) -> Settings:
    given = tagged(folder, count=400)
    return {
        "dataset.path": given["dataset.path"],
        "dataset.targets": given["dataset.targets"],
        "dataset.label_separator": "none",
        "dataset.image_size": 20,
        "dataset.crop_padding": 1,
        "model.channels": [16, 32],
    }


def pictures(folder: Path) -> Settings:
    write_shapes(folder / "images", 200, 20)
    return {
        "dataset.path": "images",
        "dataset.image_size": 20,
        "dataset.crop_padding": 2,
        "model.channels": [16, 32],
        "loop.epochs": 15,
    }


def own_network(folder: Path) -> Settings:
    write_shapes(folder / "images", 200, 20)
    (folder / "network.py").write_text(CNN)
    return {
        "dataset.path": "images",
        "dataset.image_size": 20,
        "dataset.crop_padding": 2,
        "model.path": "network.py",
        "loop.epochs": 15,
    }


def scans(folder: Path) -> Settings:
    write_masks(folder / "scans", 64, 0.15)
    return {
        "dataset.path": "scans",
        "dataset.resized_crop_scale": 0.8,
        "model.width": 8,
        "model.depth": 2,
        "loop.epochs": 20,
    }


def tales(folder: Path) -> Settings:
    (folder / "text.txt").write_text(draw_text(1500))
    return {
        "dataset.path": "text.txt",
        "dataset.context": 48,
        "dataset.stride": 48,
        "model.layers": 2,
        "model.heads": 2,
        "model.width": 48,
        "objective.sample_tokens": 0,
        "loop.max_steps": 200,
        "loop.validate_every_steps": 100,
    }


def healthy_preset(preset_name: str, write: Callable[[Path], Settings], metric: str, least: float) -> Healthy:
    name = f"preset_{preset_name.replace('-', '_')}"
    story = f"I took the preset {preset_name} for my data."
    return Healthy(name, story, "nothing", preset(preset_name, write), metric, least)


PRESETS = (
    healthy_preset(
        "sample", lambda _: {"dataset.samples": 3000, "model.channels": [16, 32], "loop.epochs": 6}, "accuracy", 0.9
    ),
    healthy_preset("spiral", lambda _: {"dataset.samples": 1500}, "accuracy", 0.95),
    healthy_preset("table-classes", flowers, "accuracy", 0.85),
    healthy_preset("table-values", houses, "r2", 0.9),
    healthy_preset("ranking", queries, "ndcg", 0.9),
    healthy_preset("labels", labels, "f1", 0.8),
    healthy_preset("pictures", pictures, "accuracy", 0.85),
    healthy_preset("own-network", own_network, "accuracy", 0.85),
    healthy_preset("segmentation", scans, "mean_iou", 0.8),
    healthy_preset("mnist", lab, "accuracy", 0.9),
    healthy_preset("gpt", tales, "loss", 1.2),
    healthy_preset("lab-1-baseline", lab, "accuracy", 0.85),
    healthy_preset("lab-2-one-cycle", lab, "accuracy", 0.85),
    healthy_preset("lab-3-clip", lab, "accuracy", 0.85),
    healthy_preset("lab-4-accumulation", lab, "accuracy", 0.85),
    healthy_preset("lab-6-checkpoints", lab, "accuracy", 0.85),
    healthy_preset("lab-7-crash", lab, "accuracy", 0.85),
)
