"""Tables drawn on the spot, and settings that suit them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tests.doctor.zoo.case import Settings
from tests.doctor.zoo.draws import Columns, write_table

Base = Callable[[Path], Settings]
Numbers = NDArray[np.float64]


def changed(base: Base, settings: Settings) -> Base:
    """``base`` with other ``settings``."""
    return lambda folder: base(folder) | settings


def adam(lr: float, kind: str = "adamw") -> Settings:
    return {"optimizer.kind": kind, "optimizer.lr": lr, "schedule.kind": "cosine"}


def draw_hearts(count: int, seed: int, sharpness: float = 3.0) -> Columns:
    """Who has a disease of the heart; ``sharpness`` says how well that can be told."""
    draws = np.random.default_rng([seed, 1])
    age = draws.normal(54, 11, count)
    pressure = draws.normal(130, 17, count)
    cholesterol = draws.normal(235, 42, count)
    rate = 205 - 0.9 * age + draws.normal(0, 14, count)
    pain = draws.choice(["none", "atypical", "typical", "at rest"], count, p=[0.4, 0.25, 0.2, 0.15])
    score = (age - 54) / 11 + 0.8 * (pressure - 130) / 17 + 0.5 * (cholesterol - 235) / 42 - 0.9 * (rate - 156) / 17
    score = score + 1.4 * (pain == "typical") + 0.9 * (pain == "at rest") - 0.9 * (pain == "none")
    score = score + 0.7 * ((age - 54) / 11) * ((pressure - 130) / 17)
    sick = draws.random(count) < 1 / (1 + np.exp(-sharpness * score))
    return {
        "age": age,
        "resting_pressure": pressure,
        "cholesterol": cholesterol,
        "highest_rate": rate,
        "chest_pain": pain,
        "disease": np.where(sick, "yes", "no"),
    }


def table(folder: Path, name: str, columns: Columns, target: str) -> Settings:
    write_table(folder / f"{name}.csv", columns)
    return {"dataset.kind": "table", "dataset.path": f"{name}.csv", "dataset.targets": [target]}


def hearts(folder: Path, count: int = 3000, seed: int = 0, sharpness: float = 3.0) -> Settings:
    """Yes or no."""
    return {
        **table(folder, "hearts", draw_hearts(count, seed, sharpness), "disease"),
        "model.kind": "tabular",
        "model.hidden": [24, 24],
        "objective.kind": "binary",
        "loop.epochs": 20,
        "loop.batch_size": 64,
        **adam(3e-3),
    }


MINERALS = ("calcite", "quartz", "gypsum", "pyrite", "fluorite", "topaz", "olivine", "garnet")


def draw_minerals(count: int, seed: int, kinds: int = 5) -> Columns:
    """What mineral it is: each has two varieties, so no plane parts them."""
    draws = np.random.default_rng([seed, 2])
    centers = np.random.default_rng(7).normal(0, 1.9, (kinds, 2, 6))
    kind, variety = draws.integers(0, kinds, count), draws.integers(0, 2, count)
    values = centers[kind, variety] + draws.normal(0, 0.75, (count, 6))
    scales = np.array([1.1, 0.5, 0.09, 14.0, 3.0, 220.0])
    middles = np.array([5.5, 3.1, 1.6, 60.0, 20.0, 900.0])
    names = ("hardness", "density", "refraction", "luster", "cleavage", "melting_point")
    values = values * scales + middles
    columns: Columns = {name: values[:, place] for place, name in enumerate(names)}
    return columns | {"mineral": np.array(MINERALS)[kind]}


def minerals(folder: Path, count: int = 2500, seed: int = 0, kinds: int = 5) -> Settings:
    """One class of some."""
    return {
        **table(folder, "minerals", draw_minerals(count, seed, kinds), "mineral"),
        "model.kind": "mlp",
        "model.hidden": [48, 48],
        "loop.epochs": 20,
        "loop.batch_size": 64,
        **adam(3e-3),
    }


def draw_concrete(count: int, seed: int) -> Columns:
    """How strong concrete is, in MPa."""
    draws = np.random.default_rng([seed, 3])
    cement = draws.uniform(150, 520, count)
    water = draws.uniform(130, 230, count)
    slag = np.where(draws.random(count) < 0.5, draws.uniform(0, 200, count), 0.0)
    age = np.round(np.exp(draws.uniform(0, np.log(180), count))).astype(int)
    plant = draws.choice(["north", "south", "harbor"], count)
    strength = 19 * (cement + 0.6 * slag) / water * (0.35 + 0.2 * np.log(age + 1)) + 4.0 * (plant == "harbor")
    strength = np.maximum(strength + draws.normal(0, 2.5, count), 1.0)
    return {"cement": cement, "water": water, "slag": slag, "age_days": age, "plant": plant, "strength": strength}


def concrete(folder: Path, count: int = 2400, seed: int = 0) -> Settings:
    """A number above zero."""
    return {
        **table(folder, "concrete", draw_concrete(count, seed), "strength"),
        "model.kind": "tabular",
        "model.hidden": [48, 48],
        "objective.kind": "regression",
        "loop.epochs": 30,
        "loop.batch_size": 64,
        **adam(3e-3),
    }


def draw_heating(count: int, seed: int) -> Columns:
    """How much it takes to heat a house, in kWh."""
    draws = np.random.default_rng([seed, 4])
    area = draws.uniform(60, 320, count)
    glass = draws.uniform(0.05, 0.5, count)
    insulation = draws.uniform(2, 30, count)
    outside = draws.uniform(-12, 14, count)
    persons = draws.integers(1, 6, count)
    need = area * (20 - outside) * (0.4 + 1.8 * glass + 6 / (insulation + 4)) * 0.12 - 12 * persons
    need = need + draws.normal(0, 18, count)
    return {
        "area": area,
        "share_of_glass": glass,
        "insulation_cm": insulation,
        "outside": outside,
        "persons": persons,
        "need": need,
    }


def heating(folder: Path, count: int = 3000, seed: int = 0) -> Settings:
    """A number."""
    return {
        **table(folder, "heating", draw_heating(count, seed), "need"),
        "model.kind": "mlp",
        "model.hidden": [64, 64],
        "objective.kind": "regression",
        "loop.epochs": 25,
        "loop.batch_size": 64,
        **adam(3e-3),
    }


TAGS = ("sports", "politics", "science", "money")


def draw_articles(count: int, seed: int) -> Columns:
    """Any of four tags, by how often twelve words occur."""
    draws = np.random.default_rng([seed, 5])
    tagged = draws.random((count, 4)) < np.array([0.4, 0.35, 0.3, 0.45])
    loads = np.random.default_rng(17).gamma(0.6, 3.0, (4, 12))
    counts = draws.poisson(0.8 + tagged @ loads)
    words = ("goal", "vote", "cell", "bank", "team", "law", "star", "tax", "race", "party", "data", "price")
    return {
        **{f"word_{word}": counts[:, place] for place, word in enumerate(words)},
        **{tag: tagged[:, place].astype(int) for place, tag in enumerate(TAGS)},
    }


def articles(folder: Path, count: int = 3000, seed: int = 0) -> Settings:
    """Any of four labels."""
    write_table(folder / "articles.csv", draw_articles(count, seed))
    return {
        "dataset.kind": "table",
        "dataset.path": "articles.csv",
        "dataset.targets": list(TAGS),
        "model.kind": "tabular",
        "model.hidden": [32],
        "objective.kind": "multi_label",
        "loop.epochs": 20,
        "loop.batch_size": 64,
        **adam(3e-3),
    }


def draw_flights(queries: int, seed: int, each: int = 6) -> Columns:
    """Offers of flights, and how well each was liked."""
    draws = np.random.default_rng([seed, 6])
    rows = queries * each
    price = draws.gamma(4, 60, rows)
    hours = draws.uniform(1, 14, rows)
    stops = draws.integers(0, 3, rows)
    leaves = draws.uniform(0, 24, rows)
    night = (leaves < 6) | (leaves > 22)
    liked = -(price - 240) / 120 - 0.8 * (hours - 7) / 4 - 0.5 * stops - 1.1 * night + draws.normal(0, 0.2, rows)
    return {
        "search": [f"s{row // each:05}" for row in range(rows)],
        "price": price,
        "hours": hours,
        "stops": stops,
        "leaves_at": leaves,
        "relevance": np.digitize(liked, (-2.0, -0.8, 0.5)),
    }


def flights(folder: Path, queries: int = 700, seed: int = 0) -> Settings:
    """Items to rank."""
    write_table(folder / "flights.csv", draw_flights(queries, seed))
    return {
        "dataset.kind": "ranking",
        "dataset.path": "flights.csv",
        "dataset.query_column": "search",
        "dataset.targets": ["relevance"],
        "model.kind": "tabular",
        "model.hidden": [32, 32],
        "objective.kind": "ranking",
        "loop.epochs": 15,
        "loop.batch_size": 32,
        **adam(3e-3),
    }


def draw_arm(count: int, seed: int) -> tuple[Numbers, Numbers]:
    """Three angles of a robot's arm, and where its hand is."""
    draws = np.random.default_rng([seed, 8])
    angles = draws.uniform(-1.4, 1.4, (count, 3))
    sums = np.cumsum(angles, 1)
    hand = np.stack([(np.cos(sums) * (1.0, 0.8, 0.4)).sum(1), (np.sin(sums) * (1.0, 0.8, 0.4)).sum(1)], 1)
    return angles, hand + draws.normal(0, 0.03, hand.shape)


def arm(folder: Path, count: int = 3000, seed: int = 0, unit: float = 1.0) -> Settings:
    """Two numbers at once, of an archive of NumPy."""
    angles, hand = draw_arm(count, seed)
    np.savez(folder / "arm.npz", x=angles.astype(np.float32), y=(hand * unit).astype(np.float32))
    return {
        "dataset.kind": "npz",
        "dataset.path": "arm.npz",
        "model.kind": "mlp",
        "model.hidden": [64, 64],
        "objective.kind": "regression",
        "loop.epochs": 25,
        "loop.batch_size": 64,
        **adam(3e-3),
    }
