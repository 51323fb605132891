"""Tables of this group, drawn on the spot, and the settings of a sound run on each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.doctor.zoo.case import Settings
from tests.doctor.zoo.draws import Columns, write_table

Rows = NDArray[Any]


def draw_wines(count: int, seed: int = 0, cultivars: int = 3) -> Columns:
    """Cultivars by eight chemical measurements on very different scales; some 95 % of three can be told."""
    draws = np.random.default_rng(seed)
    fixed = np.random.default_rng(7)
    centers, mix = fixed.normal(0, 1.15, (cultivars, 8)), fixed.normal(0, 0.35, (8, 8)) + np.eye(8)
    kind = draws.integers(0, cultivars, count)
    plain = centers[kind] + draws.normal(0, 1, (count, 8)) @ mix
    names = ("alcohol", "malic_acid", "ash", "magnesium", "phenols", "color", "hue", "proline")
    middle = np.array([13.0, 2.3, 2.4, 100.0, 2.3, 5.1, 0.96, 750.0])
    spread = np.array([0.8, 0.7, 0.3, 14.0, 0.6, 1.4, 0.2, 250.0])
    values = middle + spread * plain
    grapes = np.array(["barbera", "grignolino", "barolo", "dolcetto", "nebbiolo", "freisa", "croatina", "arneis"])
    return {**{name: values[:, place] for place, name in enumerate(names)}, "cultivar": grapes[kind]}


def draw_loans(count: int, seed: int = 0, bias: float = 0.0) -> Columns:
    """Who does not pay back; about 84 % can be told. ``bias`` makes it rarer (negative) or more common."""
    draws = np.random.default_rng(seed)
    income = np.round(draws.lognormal(10.4, 0.45, count), 0)
    ratio = draws.beta(2, 4, count)
    late = draws.poisson(1.2, count)
    years = draws.gamma(2.0, 3.0, count)
    purpose = draws.choice(["car", "kitchen", "debts", "studies"], count, p=[0.35, 0.25, 0.25, 0.15])
    score = 5.5 * (ratio - 0.33) + 1.1 * (late - 1.2) - 0.22 * (years - 5) - 1.4 * (np.log(income) - 10.4)
    score = score + 0.8 * (purpose == "debts") - 0.5 * (purpose == "studies") + bias
    failed = draws.random(count) < 1 / (1 + np.exp(-1.9 * score))
    return {
        "income": income,
        "debt_ratio": ratio,
        "late_payments": late,
        "years_employed": years,
        "purpose": purpose,
        "defaulted": np.where(failed, "yes", "no"),
    }


def draw_bikes(count: int, seed: int = 0) -> Columns:
    """Bicycles rented in an hour; two rush hours, so that no straight line will do. R2 of about 0.93 can be had."""
    draws = np.random.default_rng(seed)
    hour = draws.integers(0, 24, count)
    temperature = draws.normal(14, 9, count)
    humidity = draws.uniform(25, 98, count)
    wind = draws.gamma(2, 6, count)
    working = draws.choice(["yes", "no"], count, p=[0.7, 0.3])
    rush = 260 * (np.exp(-((hour - 8) ** 2) / 4) + np.exp(-((hour - 17.5) ** 2) / 6))
    leisure = 190 * np.exp(-((hour - 14) ** 2) / 18)
    rented = 40 + np.where(working == "yes", rush, leisure)
    rented = rented * (0.45 + np.clip(temperature, -5, 28) / 26) - 0.5 * (humidity - 60) - 1.2 * wind
    rented = np.maximum(rented + draws.normal(0, 22, count), 0)
    return {
        "hour": hour,
        "temperature": temperature,
        "humidity": humidity,
        "wind_speed": wind,
        "working_day": working,
        "rentals": np.round(rented),
    }


def draw_plant(count: int, seed: int = 0) -> Columns:
    """Output of a power plant in megawatts, 454 with a spread of 17; R2 of about 0.93 can be had."""
    draws = np.random.default_rng(seed)
    ambient = draws.uniform(2, 36, count)
    vacuum = 34 + 0.9 * ambient + draws.normal(0, 6, count)
    pressure = draws.normal(1013, 6, count)
    humidity = np.clip(95 - 0.9 * ambient + draws.normal(0, 12, count), 20, 100)
    output = 495 - 1.55 * ambient - 0.25 * (vacuum - 34) + 0.07 * (pressure - 1013) - 0.1 * humidity
    output = output + 4 * np.sin(ambient / 4) + draws.normal(0, 3.8, count)
    return {
        "ambient_temperature": ambient,
        "exhaust_vacuum": vacuum,
        "pressure": pressure,
        "relative_humidity": humidity,
        "output_mw": output,
    }


def draw_concrete(count: int, seed: int = 0) -> Columns:
    """Strength of concrete; R2 of about 0.92 can be had."""
    draws = np.random.default_rng(seed)
    cement, slag = draws.uniform(120, 520, count), draws.uniform(0, 280, count)
    water, plasticizer = draws.uniform(130, 240, count), draws.uniform(0, 24, count)
    coarse, fine = draws.uniform(800, 1140, count), draws.uniform(600, 980, count)
    age = draws.choice([3, 7, 14, 28, 56, 90, 180], count)
    bound = (cement + 0.6 * slag) / water
    strength = 9.5 * bound * np.log1p(age) ** 0.75 / 2 + 0.35 * plasticizer - 0.006 * (coarse - 970)
    return {
        "cement": cement,
        "slag": slag,
        "water": water,
        "superplasticizer": plasticizer,
        "coarse_aggregate": coarse,
        "fine_aggregate": fine,
        "age_days": age,
        "strength": np.maximum(strength + draws.normal(0, 3.0, count), 1),
    }


def draw_drift(count: int, seed: int = 0) -> Columns:
    """Change of an account's balance from one month to the next, as often down as up: R2 of about 0.9 can be had."""
    draws = np.random.default_rng(seed)
    salary, rent = draws.normal(2600, 700, count), draws.normal(950, 260, count)
    trips, repairs = draws.poisson(1.0, count), draws.gamma(1.5, 160, count)
    change = salary - rent - 620 * trips - repairs - 800 + draws.normal(0, 210, count)
    return {"salary": salary, "rent": rent, "trips": trips, "repairs": repairs, "balance_change": change}


ADAMW: Settings = {"optimizer.kind": "adamw", "optimizer.lr": 3e-3, "schedule.kind": "cosine"}


def _table(path: str, target: str, model: str, hidden: list[int], epochs: int, batch: int) -> Settings:
    return {
        "dataset.kind": "table",
        "dataset.path": path,
        "dataset.targets": [target],
        "dataset.split_seed": 3,
        "model.kind": model,
        "model.hidden": list(hidden),
        "loop.epochs": epochs,
        "loop.batch_size": batch,
        **ADAMW,
    }


def wines(folder: Path, count: int = 1400, seed: int = 0, cultivars: int = 3) -> Settings:
    """One cultivar of three."""
    write_table(folder / "wines.csv", draw_wines(count, seed, cultivars))
    return _table("wines.csv", "cultivar", "mlp", [24, 24], 14, 32)


def loans(folder: Path, count: int = 2400, seed: int = 0, bias: float = 0.0) -> Settings:
    """Paid back or not."""
    write_table(folder / "loans.csv", draw_loans(count, seed, bias))
    return _table("loans.csv", "defaulted", "tabular", [32, 16], 12, 64) | {"objective.kind": "binary"}


def bikes(folder: Path, count: int = 3000, seed: int = 0) -> Settings:
    """How many are rented."""
    write_table(folder / "bikes.csv", draw_bikes(count, seed))
    return _table("bikes.csv", "rentals", "tabular", [64, 64], 30, 64) | {
        "objective.kind": "regression",
        "optimizer.lr": 5e-3,
    }


def plant(folder: Path, count: int = 2000, seed: int = 0) -> Settings:
    """A number with a large offset, which nearly a straight line tells."""
    write_table(folder / "plant.csv", draw_plant(count, seed))
    return _table("plant.csv", "output_mw", "mlp", [32], 20, 32) | {"objective.kind": "regression"}


def concrete(folder: Path, count: int = 1600, seed: int = 0) -> Settings:
    """A number of seven columns."""
    write_table(folder / "concrete.csv", draw_concrete(count, seed))
    return _table("concrete.csv", "strength", "tabular", [48, 48], 40, 32) | {
        "objective.kind": "regression",
        "model.activation": "silu",
    }


def balances(folder: Path, count: int = 1600, seed: int = 0) -> Settings:
    """A number of either sign."""
    write_table(folder / "balances.csv", draw_drift(count, seed))
    return _table("balances.csv", "balance_change", "mlp", [32, 32], 25, 32) | {"objective.kind": "regression"}


def standardize(columns: Columns, target: str) -> tuple[Rows, Rows]:
    """The numbers of a table (n, F), each column to mean 0 and std 1, and its target as classes from 0 or as values."""
    numbers = [np.asarray(values, float) for name, values in columns.items() if name != target and _is_number(values)]
    inputs = np.stack(numbers, 1)
    inputs = (inputs - inputs.mean(0)) / inputs.std(0)
    values = np.asarray(columns[target])
    return inputs.astype(np.float32), values if _is_number(values) else np.unique(values, return_inverse=True)[1]


def _is_number(values: Any) -> bool:
    return bool(np.issubdtype(np.asarray(values).dtype, np.number))
