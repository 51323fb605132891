"""Small data drawn on the spot: tables, images, masks and text, each learnable and seeded."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tests.doctor.zoo.case import Settings

Columns = dict[str, Any]
Pixels = NDArray[np.uint8]


def write_table(path: Path, columns: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Path:
    """A CSV file; fractions with four digits."""
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        for row in zip(*columns.values(), strict=True):
            writer.writerow([f"{cell:.4f}" if isinstance(cell, float) else cell for cell in row])
    return path


def take(columns: Columns, rows: NDArray[Any]) -> Columns:
    """These rows of a table."""
    return {name: np.asarray(values)[rows] for name, values in columns.items()}


def draw_customers(count: int, seed: int = 0) -> Columns:
    """Who leaves a telephone company: a logistic rule of four columns, which gets about 85 % right."""
    draws = np.random.default_rng(seed)
    tenure = draws.integers(1, 72, count)
    monthly = draws.uniform(20, 110, count)
    calls = draws.poisson(1.5, count)
    contract = draws.choice(["monthly", "yearly", "two years"], count, p=[0.5, 0.3, 0.2])
    score = 2.2 - 0.09 * tenure + 0.03 * (monthly - 60) + 1.1 * (calls - 1.5) - 1.5 * (contract != "monthly")
    left = draws.random(count) < 1 / (1 + np.exp(-1.5 * score))
    return {
        "tenure": tenure,
        "monthly_charge": monthly,
        "support_calls": calls,
        "contract": contract,
        "churned": np.where(left, "yes", "no"),
    }


def draw_houses(count: int, seed: int = 0) -> Columns:
    """Prices of houses; R2 of about 0.95 can be had."""
    draws = np.random.default_rng(seed)
    area = draws.uniform(40, 240, count)
    rooms = np.clip(np.round(area / 28 + draws.normal(0, 0.8, count)), 1, 9).astype(int)
    age = draws.uniform(0, 100, count)
    distance = draws.exponential(8, count)
    price = (
        area * (3200 - 90 * np.minimum(distance, 20)) + 9000 * rooms - 2200 * age * (age < 60) - 132000 * (age >= 60)
    )
    price = price + draws.normal(0, 25000, count)
    return {
        "area": area,
        "rooms": rooms,
        "age": age,
        "distance_km": distance,
        "price": np.round(np.maximum(price, 20000)),
    }


def draw_flowers(count: int, seed: int = 0, kinds: int = 4) -> Columns:
    """Species by four measurements; some 93 % can be told."""
    draws = np.random.default_rng(seed)
    centers = np.random.default_rng(99).uniform(2, 8, (kinds, 4))
    kind = draws.integers(0, kinds, count)
    values = centers[kind] + draws.normal(0, 0.8, (count, 4))
    names = np.array(["setosa", "versicolor", "virginica", "lutea", "pumila", "sibirica", "cristata", "verna"])
    parts = ("sepal_length", "sepal_width", "petal_length", "petal_width")
    return {**{name: values[:, place] for place, name in enumerate(parts)}, "species": names[kind]}


SHAPES = ("disc", "ring", "square", "cross", "stripes", "triangle")


def draw_shape(kind: str, side: int, draws: np.random.Generator, noise: float = 25.0) -> Pixels:
    """A gray shape somewhere in a color image (side, side, 3)."""
    y, x = np.mgrid[:side, :side].astype(float)
    radius = side * draws.uniform(0.22, 0.34)
    cy, cx = draws.uniform(radius, side - radius, 2)
    dy, dx = y - cy, x - cx
    distance = np.hypot(dy, dx)
    box = np.maximum(abs(dy), abs(dx))
    inside = {
        "disc": distance < radius,
        "ring": (distance < radius) & (distance > 0.6 * radius),
        "square": box < 0.85 * radius,
        "cross": (box < radius) & (np.minimum(abs(dy), abs(dx)) < 0.3 * radius),
        "stripes": (box < radius) & (np.floor(dy / max(radius / 3, 1)) % 2 == 0),
        "triangle": (dy < 0.7 * radius) & (abs(dx) < (dy + radius) / 2),
    }[kind]
    ground, color = draws.uniform(20, 90, 3), draws.uniform(130, 235, 3)
    pixels = np.where(inside[..., None], color, ground) + draws.normal(0, noise, (side, side, 3))
    return np.clip(pixels, 0, 255).astype(np.uint8)


@cache
def draw_shapes(each: int, side: int, kinds: int, seed: int, noise: float) -> Mapping[str, Pixels]:
    """``each`` images of each kind; many cases have the same."""
    draws = np.random.default_rng(seed)
    return {kind: np.stack([draw_shape(kind, side, draws, noise) for _ in range(each)]) for kind in SHAPES[:kinds]}


def write_shapes(folder: Path, each: int, side: int = 20, kinds: int = 4, seed: int = 0, noise: float = 25.0) -> Path:
    """A folder for each class with ``each`` images."""
    for kind, images in draw_shapes(each, side, kinds, seed, noise).items():
        (folder / kind).mkdir(parents=True)
        for number, pixels in enumerate(images):
            Image.fromarray(pixels).save(folder / kind / f"{number:04}.png")
    return folder


def write_masks(folder: Path, count: int, share: float, side: int = 32, seed: int = 0, contrast: float = 45.0) -> Path:
    """Images with one bright disc that covers ``share`` of them, and masks of 0 and 1."""
    draws = np.random.default_rng(seed)
    y, x = np.mgrid[:side, :side]
    for part in ("images", "masks"):
        (folder / part).mkdir(parents=True)
    for number in range(count):
        radius = side * np.sqrt(share / np.pi) * draws.uniform(0.8, 1.2)
        cy, cx = draws.uniform(radius, side - radius, 2)
        mask = np.hypot(y - cy, x - cx) < radius
        pixels = draws.normal(90, 30, (side, side, 3)) + contrast * mask[..., None]
        Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(folder / "images" / f"{number:03}.png")
        Image.fromarray(mask.astype(np.uint8)).save(folder / "masks" / f"{number:03}.png")
    return folder


WORDS = [
    "the",
    "a",
    "one",
    "this",
    "every",
    "old",
    "young",
    "small",
    "great",
    "red",
    "green",
    "black",
    "white",
    "king",
    "queen",
    "miller",
    "fox",
    "bird",
    "horse",
    "river",
    "forest",
    "tower",
    "sees",
    "hears",
    "finds",
    "follows",
    "loves",
    "fears",
    "carries",
    "forgets",
    "and",
    "but",
    "while",
    "because",
    "near",
    "under",
    "behind",
    "before",
]


@cache
def draw_text(sentences: int, seed: int = 0) -> str:
    """Sentences of a small grammar, of which a letter can be told from those before it in most places."""
    draws = np.random.default_rng(seed)
    determiner, adjective, noun, verb, joint, place = (
        WORDS[0:5],
        WORDS[5:13],
        WORDS[13:22],
        WORDS[22:30],
        WORDS[30:34],
        WORDS[34:],
    )
    pick = draws.choice
    lines = []
    for _ in range(sentences):
        who = f"{pick(determiner)} {pick(adjective)} {pick(noun)}"
        whom = f"{pick(determiner)} {pick(noun)}"
        line = f"{who} {pick(verb)} {whom}"
        if draws.random() < 0.4:
            line += f" {pick(joint)} {pick(determiner)} {pick(noun)} {pick(verb)} {pick(determiner)} {pick(adjective)} {pick(noun)}"
        elif draws.random() < 0.5:
            line += f" {pick(place)} {pick(determiner)} {pick(noun)}"
        lines.append(f"{line}.")
    return "\n".join(lines) + "\n"


ADAM: Settings = {"optimizer.kind": "adamw", "optimizer.lr": 3e-3, "schedule.kind": "cosine"}


def customers(folder: Path, count: int = 1500, seed: int = 0) -> Settings:
    """Yes or no, of a table."""
    write_table(folder / "customers.csv", draw_customers(count, seed))
    return {
        "dataset.kind": "table",
        "dataset.path": "customers.csv",
        "dataset.targets": ["churned"],
        "model.kind": "tabular",
        "model.hidden": [64, 64],
        "objective.kind": "binary",
        "loop.epochs": 20,
        "loop.batch_size": 64,
        **ADAM,
    }


def houses(folder: Path, count: int = 1500, seed: int = 0) -> Settings:
    """A number, of a table."""
    write_table(folder / "houses.csv", draw_houses(count, seed))
    return {
        "dataset.kind": "table",
        "dataset.path": "houses.csv",
        "dataset.targets": ["price"],
        "model.kind": "tabular",
        "model.hidden": [64, 64],
        "objective.kind": "regression",
        "loop.epochs": 30,
        "loop.batch_size": 64,
        **ADAM,
    }


def flowers(folder: Path, count: int = 1200, seed: int = 0, kinds: int = 4) -> Settings:
    """One class of four, of a table."""
    write_table(folder / "flowers.csv", draw_flowers(count, seed, kinds))
    return {
        "dataset.kind": "table",
        "dataset.path": "flowers.csv",
        "dataset.targets": ["species"],
        "model.kind": "mlp",
        "model.hidden": [64, 64],
        "loop.epochs": 20,
        "loop.batch_size": 64,
        **ADAM,
    }


def shapes(folder: Path, each: int = 250, side: int = 20, seed: int = 0) -> Settings:
    """Images in class folders."""
    write_shapes(folder / "images", each, side, seed=seed)
    return {
        "dataset.kind": "image_folder",
        "dataset.path": "images",
        "model.kind": "small_cnn",
        "model.channels": [16, 32],
        "model.hidden": 64,
        "loop.epochs": 8,
        "loop.batch_size": 32,
        **ADAM,
    }


def spiral(_folder: Path) -> Settings:
    """Points in the plane, three classes."""
    return {
        "dataset.kind": "spiral",
        "dataset.samples": 1500,
        "model.kind": "mlp",
        "model.hidden": [64, 64],
        "loop.epochs": 40,
        "loop.batch_size": 64,
        "loop.decision_boundary": "off",
        **ADAM,
        "optimizer.lr": 1e-2,
    }


def ranked(_folder: Path) -> Settings:
    """Queries with items to rank."""
    return {
        "dataset.kind": "ranked",
        "dataset.samples": 600,
        "model.kind": "tabular",
        "model.hidden": [32, 32],
        "objective.kind": "ranking",
        "loop.epochs": 12,
        "loop.batch_size": 32,
        **ADAM,
    }


def text(folder: Path) -> Settings:
    """A language model of letters."""
    (folder / "tales.txt").write_text(draw_text(1000))
    return {
        "dataset.kind": "text",
        "dataset.path": "tales.txt",
        "dataset.context": 32,
        "model.kind": "gpt",
        "model.layers": 2,
        "model.heads": 2,
        "model.width": 32,
        "objective.kind": "language_model",
        "loop.batch_size": 32,
        "loop.epochs": 4,
        "optimizer.kind": "adamw",
        "optimizer.lr": 5e-3,
        "schedule.kind": "cosine",
    }


def tagged(folder: Path, count: int = 700, side: int = 20, seed: int = 0) -> Settings:
    """Images with any of three labels: what shape, and whether it is bright and striped at the edge."""
    draws = np.random.default_rng(seed)
    (folder / "photos").mkdir()
    rows: dict[str, list[Any]] = {"file": [], "round": [], "framed": [], "dark": []}
    for number in range(count):
        kind = str(draws.choice(["disc", "square"]))
        pixels = draw_shape(kind, side, draws)
        framed, dark = draws.random(2) < 0.5
        if framed:
            pixels[[0, -1]] = pixels[:, [0, -1]] = 230
        if dark:
            pixels = (pixels * 0.55).astype(np.uint8)
        Image.fromarray(pixels).save(folder / "photos" / f"{number:04}.png")
        for name, value in zip(rows, (f"photos/{number:04}.png", kind == "disc", framed, dark), strict=True):
            rows[name].append(value if isinstance(value, str) else int(value))
    write_table(folder / "photos.csv", rows)
    return {
        "dataset.kind": "image_table",
        "dataset.path": "photos.csv",
        "dataset.targets": ["round", "framed", "dark"],
        "model.kind": "small_cnn",
        "model.channels": [16, 32],
        "model.hidden": 64,
        "objective.kind": "multi_label",
        "loop.epochs": 12,
        "loop.batch_size": 32,
        **ADAM,
    }


def masks(folder: Path, share: float = 0.2, count: int = 80, contrast: float = 45.0) -> Settings:
    """Discs to be cut out."""
    write_masks(folder / "scans", count, share, contrast=contrast)
    return {
        "dataset.kind": "segmentation",
        "dataset.path": "scans",
        "model.kind": "unet",
        "model.depth": 2,
        "model.width": 8,
        "objective.kind": "segmentation",
        "loop.epochs": 12,
        "loop.batch_size": 8,
        **ADAM,
    }
