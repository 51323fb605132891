"""Data of the group that is judged: concrete, minerals, trains, songs, swings and pictures, each learnable and seeded."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.doctor.zoo.case import Settings
from tests.doctor.zoo.draws import Columns, draw_text, write_masks, write_shapes, write_table

COSINE: Settings = {"optimizer.kind": "adamw", "optimizer.lr": 3e-3, "schedule.kind": "cosine"}
MINERALS = ("quartz", "calcite", "gypsum", "barite", "halite", "fluorite", "topaz", "galena")


def draw_concrete(count: int, seed: int = 0) -> Columns:
    """Strength of concrete by its recipe and age; R2 of about 0.96 can be had."""
    draws = np.random.default_rng([seed, 1])
    cement, water = draws.uniform(150, 500, count), draws.uniform(140, 230, count)
    age = np.exp(draws.uniform(0, 4.8, count))
    sand, plasticizer = draws.uniform(600, 900, count), draws.uniform(0, 12, count)
    strength = 12 + 34 * np.tanh((cement / water - 0.8) / 1.2) + 6.5 * np.log(age)
    strength += 1.2 * plasticizer - 0.02 * (sand - 750) + draws.normal(0, 2.5, count)
    return {
        "cement": cement,
        "water": water,
        "sand": sand,
        "plasticizer": plasticizer,
        "age_days": age,
        "strength_mpa": strength,
    }


def draw_minerals(count: int, seed: int = 0, kinds: int = 5) -> Columns:
    """Minerals by six measurements; some 95 % can be told, and no straight lines part them all."""
    draws = np.random.default_rng([seed, 2])
    centers = np.random.default_rng(17).uniform(-2, 2, (2 * kinds, 6))
    kind = draws.integers(0, kinds, count)
    values = centers[kind + kinds * draws.integers(0, 2, count)] + draws.normal(0, 0.6, (count, 6))
    units = {
        "hardness": (5, 1),
        "density": (3.2, 0.6),
        "luster": (40, 11),
        "reflectance": (0.3, 0.06),
        "streak": (120, 30),
        "cleavage": (55, 14),
    }
    measured = {name: mean + scale * values[:, place] for place, (name, (mean, scale)) in enumerate(units.items())}
    return {**measured, "mineral": np.array(MINERALS)[kind]}


def draw_trains(count: int, seed: int = 0, shift: float = 0.0, clear: float = 2.5) -> Columns:
    """Whether a train is late; some 90 % can be told. ``shift``: below 0, few are. ``clear``: how clearly."""
    draws = np.random.default_rng([seed, 3])
    distance, stops = draws.uniform(20, 600, count), draws.integers(1, 18, count)
    rain, hour = draws.exponential(3, count), draws.integers(5, 23, count)
    line = draws.choice(["north", "coast", "valley", "express"], count)
    score = 0.006 * (distance - 300) + 0.22 * (stops - 9) + 0.35 * (rain - 3) - 1.6 * (line == "express")
    score += 0.4 * (abs(hour - 13.5) - 4.5) + 0.4
    late = draws.random(count) < 1 / (1 + np.exp(-clear * (score + shift)))
    return {
        "distance_km": distance,
        "stops": stops,
        "rain_mm": rain,
        "hour": hour,
        "line": line,
        "late": np.where(late, "yes", "no"),
    }


def concrete(folder: Path, count: int = 1600, seed: int = 0) -> Settings:
    """A number, of a table."""
    write_table(folder / "concrete.csv", draw_concrete(count, seed))
    return {
        "dataset.kind": "table",
        "dataset.path": "concrete.csv",
        "dataset.targets": ["strength_mpa"],
        "model.kind": "tabular",
        "model.hidden": [48, 48],
        "objective.kind": "regression",
        "loop.epochs": 30,
        "loop.batch_size": 32,
        **COSINE,
    }


def minerals(folder: Path, count: int = 2000, seed: int = 0, kinds: int = 5) -> Settings:
    """A class, of a table."""
    write_table(folder / "minerals.csv", draw_minerals(count, seed, kinds))
    return {
        "dataset.kind": "table",
        "dataset.path": "minerals.csv",
        "dataset.targets": ["mineral"],
        "model.kind": "mlp",
        "model.hidden": [48, 48],
        "loop.epochs": 20,
        "loop.batch_size": 32,
        **COSINE,
    }


def trains(folder: Path, count: int = 2500, seed: int = 0, shift: float = 0.0, clear: float = 2.5) -> Settings:
    """Yes or no, of a table."""
    write_table(folder / "trains.csv", draw_trains(count, seed, shift, clear))
    return {
        "dataset.kind": "table",
        "dataset.path": "trains.csv",
        "dataset.targets": ["late"],
        "model.kind": "tabular",
        "model.hidden": [32, 32],
        "objective.kind": "binary",
        "loop.epochs": 20,
        "loop.batch_size": 64,
        **COSINE,
        "optimizer.lr": 5e-3,
    }


def songs(folder: Path, count: int = 2400, seed: int = 0) -> Settings:
    """Any of five labels, of ten numbers in an npz file."""
    draws = np.random.default_rng([seed, 4])
    values = draws.normal(0, 1, (count, 10))
    scores = np.stack(
        [
            values[:, 0] + values[:, 1] - 0.3,
            1.2 * abs(values[:, 2]) - 1.0,
            values[:, 3] - values[:, 4] + 0.5 * values[:, 0],
            1.4 * np.maximum(values[:, 5], values[:, 6]) - 0.7,
            values[:, 7] * 1.3 + 0.2,
        ],
        axis=1,
    )
    labels = (scores + draws.normal(0, 0.15, scores.shape) > 0).astype(np.int64)
    np.savez(folder / "songs.npz", x=values.astype(np.float32), y=labels)
    return {
        "dataset.kind": "npz",
        "dataset.path": "songs.npz",
        "dataset.task": "labels",
        "model.kind": "mlp",
        "model.hidden": [64, 64],
        "objective.kind": "multi_label",
        "loop.epochs": 15,
        "loop.batch_size": 32,
        **COSINE,
    }


SWINGS = '''"""Swings of a pendulum, recorded by a sensor: still, slow, fast or damped."""

import numpy as np
import torch
from torch.utils.data import Dataset


class Swings(Dataset):
    classes = ["still", "slow", "fast", "damped"]

    def __init__(self, file, part):
        with np.load(file) as arrays:
            self.x = torch.from_numpy(arrays[part + "_x"])
            self.y = torch.from_numpy(arrays[part + "_y"])

    def __len__(self):
        return len(self.y)

    def __getitem__(self, index):
        return self.x[index], int(self.y[index])


def build(split: str, file: str):
    return Swings(file, split)
'''


def draw_swings(count: int, draws: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Recordings (count, 1, 48) at random phases, and what they are."""
    time = np.linspace(0, 1, 48)
    kind = draws.integers(0, 4, count)
    pace = np.array([0.0, 2.0, 5.0, 5.0])[kind] * draws.uniform(0.85, 1.15, count)
    wave = np.sin(2 * np.pi * (pace[:, None] * time + draws.random((count, 1)))) * (kind > 0)[:, None]
    wave *= np.where(kind == 3, 1.0, 0.0)[:, None] * np.exp(-3.5 * time) * 1.6 + np.where(kind == 3, 0.0, 1.0)[:, None]
    signal = wave * draws.uniform(0.8, 1.2, (count, 1)) + draws.normal(0, 0.35, (count, 48))
    return signal[:, None].astype(np.float32), kind.astype(np.int64)


def swings(folder: Path, count: int = 1500, seed: int = 0, code: str = SWINGS) -> Settings:
    """Recordings by an own Dataset, with a validation part of its own, for an own network."""
    draws = np.random.default_rng([seed, 5])
    x, y = draw_swings(count, draws)
    other_x, other_y = draw_swings(count // 3, draws)
    np.savez(folder / "swings.npz", train_x=x, train_y=y, validation_x=other_x, validation_y=other_y)
    (folder / "swings.py").write_text(code)
    return {
        "dataset.kind": "user_dataset",
        "dataset.path": "swings.py",
        "dataset.arguments.file": str(folder / "swings.npz"),
        "dataset.random_samples": False,
        "loop.epochs": 10,
        "loop.batch_size": 32,
        **COSINE,
    }


def pieces(
    folder: Path, each: int = 200, side: int = 18, seed: int = 3, kinds: int = 5, noise: float = 18.0
) -> Settings:
    """Pictures of shapes, a folder for each."""
    write_shapes(folder / "pieces", each, side, kinds, seed, noise)
    return {
        "dataset.kind": "image_folder",
        "dataset.path": "pieces",
        "model.kind": "small_cnn",
        "model.channels": [12, 24],
        "model.hidden": 48,
        "loop.epochs": 10,
        "loop.batch_size": 32,
        **COSINE,
    }


def cells(folder: Path, count: int = 120, seed: int = 5, share: float = 0.15) -> Settings:
    """Cells to be cut out of a picture."""
    write_masks(folder / "cells", count, share, side=24, seed=seed, contrast=60.0)
    return {
        "dataset.kind": "segmentation",
        "dataset.path": "cells",
        "model.kind": "unet",
        "model.depth": 2,
        "model.width": 8,
        "objective.kind": "segmentation",
        "loop.epochs": 12,
        "loop.batch_size": 8,
        **COSINE,
    }


def stories(folder: Path, sentences: int = 900, seed: int = 4) -> Settings:
    """A language model of letters."""
    (folder / "stories.txt").write_text(draw_text(sentences, seed))
    return {
        "dataset.kind": "text",
        "dataset.path": "stories.txt",
        "dataset.context": 32,
        "model.kind": "gpt",
        "model.layers": 2,
        "model.heads": 2,
        "model.width": 32,
        "objective.kind": "language_model",
        "loop.batch_size": 32,
        "loop.epochs": 7,
        "optimizer.kind": "adamw",
        "optimizer.lr": 6e-3,
        "schedule.kind": "cosine",
    }


def points(kind: str, seed: int, hidden: Sequence[int] = (32, 32), **more: float) -> Settings:
    """Points in the plane."""
    return {
        "dataset.kind": kind,
        "dataset.samples": 2000,
        "dataset.data_seed": seed,
        **{f"dataset.{name}": value for name, value in more.items()},
        "model.kind": "mlp",
        "model.hidden": list(hidden),
        "loop.epochs": 25,
        "loop.batch_size": 64,
        "loop.decision_boundary": "off",
        **COSINE,
        "optimizer.lr": 1e-2,
    }
