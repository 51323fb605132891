"""Images, texts and signals drawn on the spot, and settings that suit them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tests.doctor.zoo.case import Settings
from tests.doctor.zoo.draws import Pixels, write_table
from tests.doctor.zoo.third.tables import adam

STROKES: Mapping[str, tuple[tuple[float, float, float, float], ...]] = {
    "l": ((0, 0, 0, 2), (0, 2, 1, 2)),
    "t": ((0, 0, 1, 0), (0.5, 0, 0.5, 2)),
    "x": ((0, 0, 1, 2), (1, 0, 0, 2)),
    "v": ((0, 0, 0.5, 2), (0.5, 2, 1, 0)),
    "h": ((0, 0, 0, 2), (1, 0, 1, 2), (0, 1, 1, 1)),
    "z": ((0, 0, 1, 0), (1, 0, 0, 2), (0, 2, 1, 2)),
    "n": ((0, 2, 0, 0), (0, 0, 1, 2), (1, 2, 1, 0)),
    "y": ((0, 0, 0.5, 1), (1, 0, 0.5, 1), (0.5, 1, 0.5, 2)),
}
"""Letters as lines from (x, y) to (x, y), in a box of 1 by 2."""


def draw_letter(letter: str, side: int, draws: np.random.Generator, noise: float = 18.0) -> Pixels:
    """A letter, somewhere, gray on dark, each time a little otherwise."""
    y, x = np.mgrid[:side, :side].astype(float)
    size = side * draws.uniform(0.3, 0.36)
    left, top = draws.uniform(1.5, side - 1.5 - size), draws.uniform(1.5, side - 1.5 - 2 * size)
    ink = np.zeros((side, side))
    lean = draws.normal(0, 0.12)
    for line in STROKES[letter]:
        x0, y0, x1, y1 = np.array(line) + draws.normal(0, 0.05, 4)
        ax, ay = left + size * (x0 + lean * (1 - y0)), top + size * y0
        bx, by = left + size * (x1 + lean * (1 - y1)), top + size * y1
        dx, dy = bx - ax, by - ay
        along = np.clip(((x - ax) * dx + (y - ay) * dy) / (dx * dx + dy * dy), 0, 1)
        away = np.hypot(x - ax - along * dx, y - ay - along * dy)
        ink = np.maximum(ink, np.clip(1.6 - away, 0, 1))
    pixels = draws.uniform(15, 60) + ink * draws.uniform(120, 180) + draws.normal(0, noise, (side, side))
    return np.clip(pixels, 0, 255).astype(np.uint8)


@cache
def draw_letters(each: int, side: int, kinds: int, seed: int, noise: float) -> Mapping[str, Pixels]:
    draws = np.random.default_rng([seed, 11])
    return {
        letter: np.stack([draw_letter(letter, side, draws, noise) for _ in range(each)])
        for letter in list(STROKES)[:kinds]
    }


def write_folders(folder: Path, images: Mapping[str, Sequence[Pixels] | Pixels]) -> None:
    """A folder for each class."""
    for kind, several in images.items():
        (folder / kind).mkdir(parents=True, exist_ok=True)
        for number, pixels in enumerate(several):
            Image.fromarray(pixels).save(folder / kind / f"{number:04}.png")


CNN: Settings = {
    "model.kind": "small_cnn",
    "model.channels": [12, 24],
    "model.hidden": 48,
    "loop.epochs": 8,
    "loop.batch_size": 32,
    **adam(2e-3),
}


def letters(
    folder: Path, each: int = 300, side: int = 20, kinds: int = 6, seed: int = 0, noise: float = 18.0
) -> Settings:
    """Gray images in folders."""
    write_folders(folder / "letters", draw_letters(each, side, kinds, seed, noise))
    return {"dataset.kind": "image_folder", "dataset.path": "letters", "dataset.color": "grey", **CNN}


def draw_leaf(kind: str, side: int, draws: np.random.Generator) -> Pixels:
    """A leaf on the ground: long, round, lobed or heart-shaped, in any green or brown."""
    y, x = np.mgrid[:side, :side].astype(float)
    radius = side * draws.uniform(0.3, 0.38)
    cy, cx = side / 2 + draws.normal(0, side * 0.05, 2)
    dy, dx = (y - cy) / radius, (x - cx) / radius
    turn = draws.uniform(-0.4, 0.4)
    u, v = dx * np.cos(turn) + dy * np.sin(turn), -dx * np.sin(turn) + dy * np.cos(turn)
    angle, distance = np.arctan2(v, u), np.hypot(u, v)
    inside = {
        "willow": (u / 0.3) ** 2 + v**2 < 1,
        "aspen": distance < 0.85,
        "maple": distance < 0.7 + 0.3 * np.cos(5 * angle + np.pi / 2),
        "linden": (u**2 + (v + 0.2) ** 2 < 0.7) & (v > abs(u) * 1.1 - 0.75),
        "oak": (u / 0.62) ** 2 + v**2 < 1 - 0.38 * (np.sin(9 * v) > 0),
    }[kind]
    ground = draws.uniform(90, 140) + np.array([15.0, 0.0, -15.0])
    leaf = draws.uniform([30, 90, 20], [120, 160, 60])
    pixels = np.where(inside[..., None], leaf, ground) + draws.normal(0, 16, (side, side, 3))
    return np.clip(pixels, 0, 255).astype(np.uint8)


LEAVES = ("willow", "aspen", "maple", "linden", "oak")


@cache
def draw_leaves(each: int, side: int, kinds: int, seed: int) -> Mapping[str, Pixels]:
    draws = np.random.default_rng([seed, 12])
    return {kind: np.stack([draw_leaf(kind, side, draws) for _ in range(each)]) for kind in LEAVES[:kinds]}


def leaves(folder: Path, each: int = 250, side: int = 24, kinds: int = 5, seed: int = 0) -> Settings:
    """Images in color, in folders."""
    write_folders(folder / "leaves", draw_leaves(each, side, kinds, seed))
    return {"dataset.kind": "image_folder", "dataset.path": "leaves", **CNN}


def draw_drop(radius: float, side: int, draws: np.random.Generator) -> Pixels:
    """A dark drop on a bright slide."""
    y, x = np.mgrid[:side, :side].astype(float)
    cy, cx = draws.uniform(radius + 1, side - radius - 1, 2)
    ink = np.clip(radius - np.hypot(y - cy, x - cx) + 0.5, 0, 1)
    pixels = draws.uniform(170, 210) - ink * draws.uniform(80, 120) + draws.normal(0, 10, (side, side))
    return np.clip(pixels, 0, 255).astype(np.uint8)


def drops(folder: Path, count: int = 1000, side: int = 20, seed: int = 0, unit: float = 1.0) -> Settings:
    """Images with a number: how large the drop is."""
    draws = np.random.default_rng([seed, 13])
    (folder / "slides").mkdir()
    rows: dict[str, list[Any]] = {"file": [], "diameter": []}
    for number in range(count):
        radius = draws.uniform(2.0, 7.0)
        Image.fromarray(draw_drop(radius, side, draws)).save(folder / "slides" / f"{number:04}.png")
        rows["file"].append(f"slides/{number:04}.png")
        rows["diameter"].append(round(float(2 * radius * unit), 4))
    write_table(folder / "drops.csv", rows)
    return {
        "dataset.kind": "image_table",
        "dataset.path": "drops.csv",
        "dataset.targets": ["diameter"],
        "dataset.color": "grey",
        **CNN,
        "objective.kind": "regression",
        "loop.epochs": 12,
    }


def draw_cells(count: int, side: int, seed: int) -> list[tuple[Pixels, Pixels]]:
    """Slides with three to six cells each, and their masks."""
    draws = np.random.default_rng([seed, 14])
    y, x = np.mgrid[:side, :side].astype(float)
    drawn = []
    for _ in range(count):
        mask = np.zeros((side, side), bool)
        for _ in range(draws.integers(3, 7)):
            cy, cx = draws.uniform(3, side - 3, 2)
            ry, rx = draws.uniform(2.2, 4.5, 2)
            mask |= ((y - cy) / ry) ** 2 + ((x - cx) / rx) ** 2 < 1
        pixels = np.array([200.0, 170.0, 190.0]) + draws.normal(0, 8, 3) - mask[..., None] * (60.0, 85.0, 35.0)
        pixels = pixels + draws.normal(0, 22, (side, side, 3))
        drawn.append((np.clip(pixels, 0, 255).astype(np.uint8), mask.astype(np.uint8)))
    return drawn


def cells(folder: Path, count: int = 120, side: int = 32, seed: int = 0, value: int = 1) -> Settings:
    """A class for each pixel; ``value`` is that of a cell in the masks."""
    for part in ("images", "masks"):
        (folder / "slides" / part).mkdir(parents=True)
    for number, (pixels, mask) in enumerate(draw_cells(count, side, seed)):
        Image.fromarray(pixels).save(folder / "slides" / "images" / f"{number:03}.png")
        Image.fromarray(mask * np.uint8(value)).save(folder / "slides" / "masks" / f"{number:03}.png")
    return {
        "dataset.kind": "segmentation",
        "dataset.path": "slides",
        "model.kind": "unet",
        "model.depth": 2,
        "model.width": 8,
        "objective.kind": "segmentation",
        "loop.epochs": 12,
        "loop.batch_size": 8,
        **adam(3e-3),
    }


@cache
def draw_recipes(count: int, seed: int) -> str:
    """Short recipes, of which a letter can be told from those before it in most places."""
    draws = np.random.default_rng([seed, 15])
    pick = draws.choice
    things = ["flour", "butter", "sugar", "rice", "onion", "carrot", "cream", "cheese", "pepper", "honey", "beans"]
    acts = ["stir", "fry", "boil", "bake", "chop", "mix", "melt", "cool"]
    pots = ["in a pan", "in a bowl", "in the oven", "on a plate", "in a pot"]
    lines = []
    for _ in range(count):
        line = f"{pick(acts)} the {pick(things)} {pick(pots)}"
        if draws.random() < 0.5:
            line += f" for {draws.integers(2, 60)} minutes"
        if draws.random() < 0.5:
            line += f", then add {pick(['some', 'all the', 'half the'])} {pick(things)}"
        lines.append(f"{line}.")
    return "\n".join(lines) + "\n"


def recipes(folder: Path, count: int = 1200, seed: int = 0, context: int = 32) -> Settings:
    """A language model of letters."""
    (folder / "recipes.txt").write_text(draw_recipes(count, seed))
    return {
        "dataset.kind": "text",
        "dataset.path": "recipes.txt",
        "dataset.context": context,
        "model.kind": "gpt",
        "model.layers": 2,
        "model.heads": 2,
        "model.width": 32,
        "objective.kind": "language_model",
        "loop.batch_size": 32,
        "loop.epochs": 5,
        **adam(5e-3),
    }


WAVES = ("smooth", "square", "saw", "pulse")


def draw_vibrations(count: int, seed: int, length: int = 64) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Vibrations of four sorts, of any phase and pitch."""
    draws = np.random.default_rng([seed, 16])
    kind = draws.integers(0, 4, count)
    phase = draws.uniform(0, 1, (count, 1)) + draws.uniform(3, 6, (count, 1)) * np.arange(length) / length
    part = phase % 1
    shapes = np.stack(
        [
            np.sin(2 * np.pi * part),
            np.where(part < 0.5, 1.0, -1.0),
            2 * part - 1,
            np.where(part < 0.2, 2.0, -0.5),
        ]
    )
    values = shapes[kind, np.arange(count)] * draws.uniform(0.7, 1.3, (count, 1))
    return (values + draws.normal(0, 0.25, values.shape)).astype(np.float32), kind.astype(np.int64)


VIBRATIONS = """from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset

FILE = Path(__file__).parent / "vibrations.npz"


class Vibrations(Dataset):
    classes = ["smooth", "square", "saw", "pulse"]

    def __init__(self, split):
        with np.load(FILE) as file:
            self.values = file[f"{split}_values"]
            self.kinds = file[f"{split}_kinds"]

    def __len__(self):
        return len(self.kinds)

    def __getitem__(self, index):
        return torch.from_numpy(self.values[index]), int(self.kinds[index])


def build(split: str):
    return Vibrations(split)
"""

CONV1D = """import torch
from torch import nn


class Listener(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv1d(1, 16, 7, padding=3),
            nn.ReLU(),
            nn.MaxPool1d(2),
            nn.Conv1d(16, 32, 5, padding=2),
            nn.ReLU(),
            nn.AdaptiveAvgPool1d(4),
        )
        self.head = nn.Linear(128, classes)

    def forward(self, x):
        x = self.features(x.unsqueeze(1))
        return self.head(x.flatten(1))


def build(features: int, classes: int):
    return Listener(classes)
"""


def vibrations(
    folder: Path, count: int = 2000, seed: int = 0, source: str = VIBRATIONS, network: str = CONV1D
) -> Settings:
    """A Dataset and a network of one's own."""
    values, kinds = draw_vibrations(count + count // 4, seed)
    np.savez(
        folder / "vibrations.npz",
        train_values=values[:count],
        train_kinds=kinds[:count],
        validation_values=values[count:],
        validation_kinds=kinds[count:],
    )
    (folder / "vibrations.py").write_text(source)
    (folder / "network.py").write_text(network)
    return {
        "dataset.kind": "user_dataset",
        "dataset.path": "vibrations.py",
        "dataset.random_samples": False,
        "model.kind": "user_file",
        "model.path": "network.py",
        "loop.epochs": 12,
        "loop.batch_size": 32,
        **adam(2e-3),
    }
