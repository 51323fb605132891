"""What the cases start from: small runs that go well, and own networks in which one line is the fault."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from tests.doctor.zoo.case import Settings
from tests.doctor.zoo.draws import ADAM, shapes, text, write_table

Base = Callable[[Path], Settings]


def points(kind: str, **settings: object) -> Base:
    """Points that the program makes itself."""

    def base(_folder: Path) -> Settings:
        return {
            "dataset.kind": kind,
            "dataset.samples": 1200,
            "model.kind": "mlp",
            "model.hidden": [48, 48],
            "loop.epochs": 20,
            "loop.batch_size": 32,
            "loop.decision_boundary": "off",
            **ADAM,
            **settings,  # type: ignore[dict-item]
        }

    return base


def wines(folder: Path, count: int = 1200, seed: int = 5) -> Settings:
    """The price of a bottle, from six measurements; R2 of about 0.9 can be had."""
    draws = np.random.default_rng(seed)
    acidity, sugar, age = draws.normal(6, 1, count), draws.gamma(2, 3, count), draws.uniform(0, 25, count)
    alcohol, hours, score = draws.normal(12.5, 1, count), draws.normal(2000, 200, count), draws.uniform(70, 99, count)
    price = 8 + 0.05 * (score - 70) ** 2 + 0.6 * age * (acidity > 5.5) - 0.4 * sugar + 3 * (alcohol - 12.5)
    price = np.maximum(price + draws.normal(0, 3.5, count), 2)
    columns = {"acidity": acidity, "sugar": sugar, "age": age, "alcohol": alcohol, "sun_hours": hours, "score": score}
    write_table(folder / "wines.csv", {**columns, "price": price})
    return {
        "dataset.kind": "table",
        "dataset.path": "wines.csv",
        "dataset.targets": ["price"],
        "model.kind": "tabular",
        "model.hidden": [48, 48],
        "objective.kind": "regression",
        "loop.epochs": 20,
        "loop.batch_size": 32,
        **ADAM,
    }


def pumps(folder: Path, count: int = 1400, seed: int = 6, kinds: int = 3) -> Settings:
    """The state of a pump, from five readings; about 90 % can be told."""
    draws = np.random.default_rng(seed)
    state = draws.integers(0, kinds, count)
    heat = draws.normal(60, 6, count) + 9 * (state == 1)
    flow = draws.normal(120, 15, count) - 25 * (state == 2)
    hum = draws.normal(1.0, 0.2, count) + 0.3 * (state == 1) + 0.25 * (state == 2)
    pressure, volts = draws.normal(4, 0.5, count) - 0.6 * (state == 2), draws.normal(230, 3, count)
    names = np.array(["sound", "worn", "blocked", "dry", "loose"])
    columns = {"heat": heat, "flow": flow, "hum": hum, "pressure": pressure, "volts": volts, "state": names[state]}
    write_table(folder / "pumps.csv", columns)
    return {
        "dataset.kind": "table",
        "dataset.path": "pumps.csv",
        "dataset.targets": ["state"],
        "model.kind": "mlp",
        "model.hidden": [48, 48],
        "loop.epochs": 15,
        "loop.batch_size": 32,
        **ADAM,
    }


def yields(folder: Path, count: int = 1400, seed: int = 8) -> Settings:
    """Whether a batch of a factory is good, yes or no."""
    draws = np.random.default_rng(seed)
    heat, time, purity = draws.normal(180, 12, count), draws.uniform(20, 90, count), draws.beta(8, 2, count)
    score = -((heat - 182) ** 2) / 90 + (time - 50) / 18 + 9 * (purity - 0.75)
    good = draws.random(count) < 1 / (1 + np.exp(-2.5 * score))
    columns = {"heat": heat, "time": time, "purity": purity, "good": np.where(good, "yes", "no")}
    write_table(folder / "yields.csv", columns)
    return {
        "dataset.kind": "table",
        "dataset.path": "yields.csv",
        "dataset.targets": ["good"],
        "model.kind": "mlp",
        "model.hidden": [48, 48],
        "objective.kind": "binary",
        "loop.epochs": 15,
        "loop.batch_size": 32,
        **ADAM,
    }


def figures(folder: Path) -> Settings:
    """Shapes in images of 16 pixels, three kinds."""
    return shapes(folder, each=160, side=16, seed=11) | {"model.channels": [12, 24], "model.hidden": 48}


def tales(folder: Path) -> Settings:
    """A small language model."""
    return text(folder) | {"loop.epochs": 4}


def changed(base: Base, more: Mapping[str, object]) -> Base:
    """``base`` with other settings."""
    return lambda folder: base(folder) | more  # type: ignore[operator]


MLP = """from torch import nn


def build(features: int, classes: int):
    return nn.Sequential(
        nn.Linear(features, 48), nn.ReLU(),
        nn.Linear(48, 48), nn.ReLU(),
        nn.Linear(48, classes),
    )
"""

CNN = """from torch import nn


def build(channels: int, classes: int):
    return nn.Sequential(
        nn.Conv2d(channels, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(24 * 16, 48), nn.ReLU(),
        nn.Linear(48, classes),
    )
"""

LANGUAGE = """import torch
from torch import nn


class Letters(nn.Module):
    def __init__(self, vocabulary: int, context: int, width: int = 32):
        super().__init__()
        self.letters, self.places = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        layer = nn.TransformerEncoderLayer(width, 2, 4 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, letters):
        length = letters.shape[1]
        hidden = self.letters(letters) + self.places(torch.arange(length, device=letters.device))
        mask = torch.triu(torch.full((length, length), float("-inf"), device=letters.device), 1)
        hidden = self.layers(hidden, mask=mask)
        return self.head(hidden)


def build(vocabulary: int, context: int):
    return Letters(vocabulary, context)
"""


def swapped(text: str, *pairs: tuple[str, str]) -> str:
    """``text`` with lines exchanged; each is in there exactly once."""
    for before, after in pairs:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    return text
