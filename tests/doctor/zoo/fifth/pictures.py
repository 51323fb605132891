"""Images, signals and text of this group, drawn on the spot, and the settings of a sound run on each."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tests.doctor.zoo.case import Settings
from tests.doctor.zoo.draws import Pixels, write_table
from tests.doctor.zoo.fifth.data import ADAMW

_FONT = (
    "01110 10001 10011 10101 11001 10001 01110",
    "00100 01100 00100 00100 00100 00100 01110",
    "01110 10001 00001 00110 01000 10000 11111",
    "11110 00001 00001 01110 00001 00001 11110",
    "00010 00110 01010 10010 11111 00010 00010",
    "11111 10000 11110 00001 00001 10001 01110",
    "00110 01000 10000 11110 10001 10001 01110",
    "11111 00001 00010 00100 01000 01000 01000",
    "01110 10001 10001 01110 10001 10001 01110",
    "01110 10001 10001 01111 00001 00010 01100",
)
"""Digits of a display, 5 points wide and 7 high."""


def _glyph(digit: int) -> NDArray[Any]:
    points = np.array([[int(point) for point in row] for row in _FONT[digit].split()])
    return np.kron(points, np.ones((2, 2), int))  # 14 high, 10 wide


@cache
def draw_digits(count: int, seed: int = 0, noise: float = 40.0) -> tuple[Pixels, NDArray[np.int64]]:
    """Gray images (n, 20, 20, 1) of a digit somewhere, and which it is."""
    draws = np.random.default_rng(seed)
    digits = draws.integers(0, 10, count)
    images = draws.normal(60, noise, (count, 20, 20))
    for image, digit in zip(images, digits, strict=True):
        top, left = draws.integers(0, 7), draws.integers(0, 11)
        image[top : top + 14, left : left + 10] += draws.uniform(80, 150) * _glyph(int(digit))
    return np.clip(images, 0, 255).astype(np.uint8)[..., None], digits.astype(np.int64)


def digits(folder: Path, count: int = 2200, seed: int = 0) -> Settings:
    """Ten digits in an archive of NumPy's."""
    images, labels = draw_digits(count, seed)
    np.savez(folder / "digits.npz", x=images, y=labels)
    return {
        "dataset.kind": "npz_pictures",
        "dataset.path": "digits.npz",
        "model.kind": "small_cnn",
        "model.channels": [12, 24],
        "model.hidden": 48,
        "loop.epochs": 14,
        "loop.batch_size": 32,
        **ADAMW,
    }


def draw_arrow(way: int, side: int, draws: np.random.Generator) -> Pixels:
    """An arrow that points left, right, up or down (0 to 3)."""
    y, x = np.mgrid[:side, :side].astype(float)
    cy, cx = draws.uniform(side * 0.4, side * 0.6, 2)
    along, across = (x - cx, y - cy) if way < 2 else (y - cy, x - cx)
    along = along * (1 if way in (1, 3) else -1)
    long = side * draws.uniform(0.26, 0.36)
    shaft = (abs(along) < long) & (abs(across) < side * 0.06)
    head = (along > 0) & (along < long) & (abs(across) < (long - along) * 0.9)
    ground, color = draws.uniform(30, 110, 3), draws.uniform(140, 240, 3)
    pixels = np.where((shaft | head)[..., None], color, ground) + draws.normal(0, 22, (side, side, 3))
    return np.clip(pixels, 0, 255).astype(np.uint8)


def draw_fruit(ripe: int, side: int, draws: np.random.Generator) -> Pixels:
    """A round fruit on gray: green, yellow or red (0 to 2) and nothing else tells them apart."""
    y, x = np.mgrid[:side, :side].astype(float)
    radius = side * draws.uniform(0.25, 0.38)
    cy, cx = draws.uniform(radius, side - radius, 2)
    color = np.array([[105, 155, 60], [165, 145, 60], [190, 100, 60]][ripe], float) + draws.normal(0, 12, 3)
    color = color * draws.uniform(0.75, 1.1)
    inside = np.hypot(y - cy, x - cx) < radius
    pixels = np.where(inside[..., None], color, draws.uniform(60, 170)) + draws.normal(0, 20, (side, side, 3))
    return np.clip(pixels, 0, 255).astype(np.uint8)


def draw_weave(kind: int, side: int, draws: np.random.Generator) -> Pixels:
    """Cloth whose fine threads, 3 pixels from one to the next, run across, upright, aslant or aslant the other way (0 to 3)."""
    y, x = np.mgrid[:side, :side].astype(float)
    along = (y, x, (x + y) * 0.7071, (x - y) * 0.7071)[kind]
    waves = np.sin(2 * np.pi * along / draws.uniform(2.8, 3.4) + draws.uniform(0, 6.28))
    color = draws.uniform(90, 170, 3)
    pixels = color + 38 * waves[..., None] + draws.normal(0, 24, (side, side, 3))
    return np.clip(pixels, 0, 255).astype(np.uint8)


Draw = Callable[[int, int, np.random.Generator], Pixels]


@cache
def _drawn(draw: Draw, classes: int, each: int, side: int, seed: int) -> tuple[tuple[Pixels, ...], ...]:
    draws = np.random.default_rng(seed)
    return tuple(tuple(draw(kind, side, draws) for _ in range(each)) for kind in range(classes))


def write_classes(folder: Path, draw: Draw, names: tuple[str, ...], each: int, side: int, seed: int = 0) -> Path:
    """A folder for each of ``names`` with ``each`` images."""
    for name, images in zip(names, _drawn(draw, len(names), each, side, seed), strict=True):
        (folder / name).mkdir(parents=True)
        for number, pixels in enumerate(images):
            Image.fromarray(pixels).save(folder / name / f"{number:04}.png")
    return folder


WAYS = ("left", "right", "up", "down")
RIPENESS = ("unripe", "turning", "ripe")
WEAVES = ("across", "upright", "twill", "reverse_twill")


def _folder(epochs: int) -> Settings:
    return {
        "dataset.kind": "image_folder",
        "dataset.path": "images",
        "model.kind": "small_cnn",
        "model.channels": [12, 24],
        "model.hidden": 48,
        "loop.epochs": epochs,
        "loop.batch_size": 32,
        **ADAMW,
    }


def arrows(folder: Path, each: int = 220, side: int = 24) -> Settings:
    """Which way it points."""
    write_classes(folder / "images", draw_arrow, WAYS, each, side)
    return _folder(10)


def fruit(folder: Path, each: int = 260, side: int = 20) -> Settings:
    """How ripe it is, by color alone."""
    write_classes(folder / "images", draw_fruit, RIPENESS, each, side)
    return _folder(8)


def weaves(folder: Path, each: int = 180, side: int = 32) -> Settings:
    """Which way fine threads run."""
    write_classes(folder / "images", draw_weave, WEAVES, each, side)
    return _folder(6)


def draw_cells(side: int, draws: np.random.Generator) -> tuple[Pixels, int]:
    """A dish with bright spots, and how many there are."""
    y, x = np.mgrid[:side, :side].astype(float)
    pixels = draws.normal(70, 14, (side, side, 3))
    count = int(draws.integers(0, 13))
    for _ in range(count):
        cy, cx = draws.uniform(2, side - 2, 2)
        pixels += 120 * np.exp(-((y - cy) ** 2 + (x - cx) ** 2) / 2.5)[..., None]
    return np.clip(pixels, 0, 255).astype(np.uint8), count


def cells(folder: Path, count: int = 1400, side: int = 24, seed: int = 0) -> Settings:
    """How many cells are in a dish: a number of an image."""
    draws = np.random.default_rng(seed)
    (folder / "dishes").mkdir()
    rows: dict[str, list[Any]] = {"file": [], "cells": []}
    for number in range(count):
        pixels, amount = draw_cells(side, draws)
        Image.fromarray(pixels).save(folder / "dishes" / f"{number:04}.png")
        rows["file"].append(f"dishes/{number:04}.png")
        rows["cells"].append(float(amount))
    write_table(folder / "dishes.csv", rows)
    return {
        "dataset.kind": "image_table",
        "dataset.path": "dishes.csv",
        "dataset.targets": ["cells"],
        "dataset.task": "values",
        "model.kind": "small_cnn",
        "model.channels": [12, 24],
        "model.hidden": 48,
        "objective.kind": "regression",
        "loop.epochs": 12,
        "loop.batch_size": 32,
        **ADAMW,
    }


def draw_waves(count: int, seed: int = 0, length: int = 64, noise: float = 0.5) -> tuple[Any, NDArray[np.int64]]:
    """Signals float32 (n, length) of a pump: sine, square, saw and a beat (0 to 3), of any phase, in noise."""
    draws = np.random.default_rng(seed)
    kind = draws.integers(0, 4, count)
    time = np.arange(length)[None] / length
    turns = draws.uniform(3, 5, (count, 1)) * time + draws.uniform(0, 1, (count, 1))
    sine = np.sin(2 * np.pi * turns)
    shapes = np.stack([sine, np.sign(sine), 2 * (turns % 1) - 1, sine * np.sin(2 * np.pi * turns * 0.31)])
    signals = 1.2 * shapes[kind, np.arange(count)] + draws.normal(0, noise, (count, length))
    return signals.astype(np.float32), kind.astype(np.int64)


def waves(folder: Path, count: int = 2000, seed: int = 0) -> Settings:
    """Kinds of signals; an archive of NumPy's."""
    inputs, labels = draw_waves(count, seed)
    np.savez(folder / "waves.npz", x=inputs, y=labels)
    return {
        "dataset.kind": "npz",
        "dataset.path": "waves.npz",
        "loop.epochs": 8,
        "loop.batch_size": 32,
        **ADAMW,
    }


@cache
def draw_notices(count: int, seed: int = 0) -> str:
    """Announcements of a station: most letters can be told from those before."""
    draws = np.random.default_rng(seed)
    towns = ("Aalen", "Bergen", "Calais", "Dover", "Evora", "Florence", "Ghent", "Horsens")
    kinds = ("express", "regional train", "night train", "tram")
    reasons = ("snow on the line", "a broken signal", "works at the bridge", "a late crew")
    lines = []
    for _ in range(count):
        town, track = str(draws.choice(towns)), int(draws.integers(1, 13))
        line = f"The {draws.choice(kinds)} to {town} leaves at {draws.integers(5, 24)}:{draws.integers(0, 6)}0"
        line += f" from track {track}"
        if draws.random() < 0.4:
            line += f", {draws.integers(1, 10) * 5} minutes late because of {draws.choice(reasons)}"
        lines.append(f"{line}.")
    return "\n".join(lines) + "\n"


def notices(folder: Path, count: int = 1000) -> Settings:
    """A language model of letters."""
    (folder / "notices.txt").write_text(draw_notices(count))
    return {
        "dataset.kind": "text",
        "dataset.path": "notices.txt",
        "dataset.context": 48,
        "model.kind": "gpt",
        "model.layers": 2,
        "model.heads": 2,
        "model.width": 32,
        "objective.kind": "language_model",
        "loop.batch_size": 32,
        "loop.epochs": 8,
        "optimizer.kind": "adamw",
        "optimizer.lr": 6e-3,
        "schedule.kind": "cosine",
    }
