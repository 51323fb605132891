"""Healthy runs on tables and points, each with something odd that is no fault."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.doctor.zoo.case import Healthy, Settings
from tests.doctor.zoo.draws import ranked, write_table
from tests.doctor.zoo.fifth import sound
from tests.doctor.zoo.fifth.data import (
    ADAMW,
    balances,
    bikes,
    concrete,
    draw_bikes,
    draw_concrete,
    draw_loans,
    draw_wines,
    loans,
    plant,
    wines,
)


def _ice_cream(folder: Path) -> Settings:
    """Sales, which temperature alone tells to nine tenths."""
    draws = np.random.default_rng(14)
    warm = draws.uniform(2, 36, 1500)
    sold = 12 * warm + 0.25 * warm**2 + draws.normal(0, 28, 1500)
    columns = {
        "temperature": warm,
        "rain_mm": draws.exponential(2, 1500),
        "holiday": draws.choice(["yes", "no"], 1500, p=[0.15, 0.85]),
        "sales": np.round(np.maximum(sold, 0), 1),
    }
    write_table(folder / "sales.csv", columns)
    return _fit("sales.csv", "sales", [32, 32], 20)


def _fit(path: str, target: str, hidden: list[int], epochs: int) -> Settings:
    return {
        "dataset.kind": "table",
        "dataset.path": path,
        "dataset.targets": [target],
        "model.kind": "tabular",
        "model.hidden": list(hidden),
        "objective.kind": "regression",
        "loop.epochs": epochs,
        "loop.batch_size": 32,
        **ADAMW,
    }


def _rain_tomorrow(folder: Path) -> Settings:
    """Weather that can hardly be told: two thirds right is all there is to have."""
    draws = np.random.default_rng(15)
    pressure, humidity = draws.normal(0, 1, 3000), draws.normal(0, 1, 3000)
    score = 0.75 * humidity - 0.6 * pressure
    rain = draws.random(3000) < 1 / (1 + np.exp(-score))
    columns = {
        "pressure_change": 3 * pressure,
        "humidity": 70 + 12 * humidity,
        "wind": draws.gamma(2, 5, 3000),
        "rain": np.where(rain, "yes", "no"),
    }
    write_table(folder / "weather.csv", columns)
    return _fit("weather.csv", "rain", [16], 10) | {"objective.kind": "binary", "loop.batch_size": 64}


def _incomes(folder: Path) -> Settings:
    """A target that varies by chance far more than its columns can tell."""
    draws = np.random.default_rng(16)
    years, hours = draws.uniform(0, 40, 3000), draws.normal(38, 7, 3000)
    wage = 1500 + 32 * years + 22 * (hours - 38) + draws.normal(0, 520, 3000)
    write_table(folder / "wages.csv", {"years": years, "hours": hours, "wage": np.round(wage)})
    return _fit("wages.csv", "wage", [16], 12) | {"loop.batch_size": 64, "optimizer.lr": 2e-3}


def _heavy_tails(folder: Path) -> Settings:
    """Repairs whose cost has real, rare heights, learned by Huber's loss."""
    draws = np.random.default_rng(17)
    age, size = draws.uniform(0, 20, 2400), draws.uniform(1, 6, 2400)
    cost = 90 * age + 260 * size + 12 * age * size + 90 * draws.standard_t(2.5, 2400)
    write_table(folder / "repairs.csv", {"age": age, "size": size, "cost": cost})
    return _fit("repairs.csv", "cost", [32], 20) | {"objective.loss": "huber"}


def _holes(folder: Path) -> Settings:
    """One cell in ten is empty."""
    draws = np.random.default_rng(18)
    columns = draw_loans(2600, 19)
    for name in ("income", "debt_ratio", "years_employed"):
        values = columns[name]
        columns[name] = [
            f"{value:.4f}" if keep else "" for value, keep in zip(values, draws.random(2600) > 0.1, strict=True)
        ]
    write_table(folder / "loans.csv", columns)
    return _fit("loans.csv", "defaulted", [24], 12) | {
        "objective.kind": "binary",
        "loop.batch_size": 64,
        "dataset.missing_indicator": True,
    }


def _few_frauds(folder: Path) -> Settings:
    """6 % positive, clearly apart and balanced by weight."""
    draws = np.random.default_rng(20)
    fraud = draws.random(4000) < 0.06
    columns = {
        "amount": np.exp(draws.normal(3.5, 0.8, 4000) + 1.6 * fraud),
        "hour": np.where(fraud, draws.normal(3, 2, 4000), draws.normal(14, 4, 4000)) % 24,
        "distance": draws.gamma(2, 4, 4000) + 22 * fraud * draws.random(4000),
        "country": draws.choice(["home", "abroad"], 4000, p=[0.9, 0.1]),
        "fraud": np.where(fraud, "yes", "no"),
    }
    write_table(folder / "payments.csv", columns)
    return _fit("payments.csv", "fraud", [24], 10) | {
        "objective.kind": "binary",
        "objective.balanced": True,
        "loop.batch_size": 64,
    }


def _distractors(folder: Path) -> Settings:
    """Twenty columns that say nothing, beside eight that do."""
    draws = np.random.default_rng(21)
    columns = draw_wines(2400, 22)
    target = columns.pop("cultivar")
    for number in range(20):
        columns[f"spare_{number:02}"] = draws.normal(0, 1, 2400)
    write_table(folder / "wines.csv", {**columns, "cultivar": target})
    return wines_like() | {"model.hidden": [24], "loop.epochs": 8, "model.dropout": 0.2, "optimizer.weight_decay": 0.1}


def wines_like() -> Settings:
    """The settings for a file of wines."""
    return {
        "dataset.kind": "table",
        "dataset.path": "wines.csv",
        "dataset.targets": ["cultivar"],
        "model.kind": "mlp",
        "model.hidden": [32, 32],
        "loop.epochs": 15,
        "loop.batch_size": 32,
        **ADAMW,
    }


def _uninformative(folder: Path) -> Settings:
    """A number for each row and a column that is always the same, both left out by the program."""
    columns = draw_wines(1400, 23)
    write_table(
        folder / "wines.csv",
        {"bottle_id": np.arange(1, 1401), "laboratory": np.full(1400, "Turin"), **columns},
    )
    return wines_like()


def _by_season(folder: Path) -> Settings:
    """Rentals with the day, the newest of which are held out; nothing changes in time."""
    columns = draw_bikes(3000, 24)
    write_table(folder / "bikes.csv", {"day": np.arange(3000) * 0.25, **columns})
    return bikes_like() | {"dataset.time_column": "day"}


def bikes_like() -> Settings:
    """The settings for a file of rentals."""
    return _fit("bikes.csv", "rentals", [64, 64], 30) | {"loop.batch_size": 64, "optimizer.lr": 5e-3}


def _by_winery(folder: Path) -> Settings:
    """Wineries with several bottles each, kept together; a bottle tells nothing of its winery."""
    columns = draw_wines(1500, 25)
    winery = np.random.default_rng(26).integers(0, 100, 1500)
    write_table(folder / "wines.csv", {"winery": np.array([f"W{number:02}" for number in winery]), **columns})
    return wines_like() | {"dataset.group_column": "winery", "dataset.validation_fraction": 0.25}


def _said_parts(folder: Path) -> Settings:
    """Parts by a column, a third of the rows validating."""
    columns = draw_concrete(1800, 27)
    part = np.random.default_rng(28).choice(["train", "validation"], 1800, p=[0.67, 0.33])
    write_table(folder / "concrete.csv", {"part": part, **columns})
    return _fit("concrete.csv", "strength", [48, 48], 40) | {"dataset.split_column": "part"}


def _two_targets(folder: Path) -> Settings:
    """Two numbers at once, on scales a thousand apart."""
    columns = draw_concrete(1600, 29)
    draws = np.random.default_rng(30)
    columns["density"] = (
        2.3 + 0.0006 * (columns["cement"] - 300) - 0.001 * (columns["water"] - 180) + draws.normal(0, 0.02, 1600)
    )
    columns["price"] = (
        40_000 + 110 * columns["cement"] + 900 * columns["superplasticizer"] + draws.normal(0, 3000, 1600)
    )
    write_table(folder / "concrete.csv", columns)
    return _fit("concrete.csv", "strength", [48, 48], 40) | {"dataset.targets": ["strength", "price"]}


RUNS = (
    Healthy(
        "one_column_says_nearly_all",
        "Ice cream by the weather.",
        "Temperature alone tells 90 % of the target, and may.",
        _ice_cream,
        "r2",
        0.85,
    ),
    Healthy(
        "rain_is_hard_to_tell",
        "Rain tomorrow by today's weather.",
        "Two thirds right is all that can be had; the loss soon lies still near 0.6.",
        _rain_tomorrow,
        "accuracy",
        0.62,
    ),
    Healthy(
        "wages_vary_by_chance",
        "Wages by experience and hours.",
        "R2 stays below 0.5, for chance is the larger part.",
        _incomes,
        "r2",
        0.3,
    ),
    Healthy(
        "repairs_with_heavy_tails",
        "What a repair costs.",
        "Real outliers in the target, and a loss that copes with them.",
        _heavy_tails,
        "r2",
        0.6,
    ),
    Healthy(
        "loans_with_empty_cells",
        "Applications that nobody filled in completely.",
        "A tenth of the cells is empty, which is marked.",
        _holes,
        "accuracy",
        0.72,
    ),
    Healthy(
        "payments_few_frauds",
        "Frauds among payments.",
        "6 % positive; the loss is balanced.",
        _few_frauds,
        "auroc",
        0.9,
    ),
    Healthy(
        "wines_spare_columns",
        "All that the laboratory measured.",
        "Twenty of 28 columns are noise.",
        _distractors,
        "accuracy",
        0.85,
    ),
    Healthy(
        "wines_numbered_bottles",
        "Bottles with their number and the laboratory's name.",
        "A running number and a constant column, which the program leaves out.",
        _uninformative,
        "accuracy",
        0.88,
    ),
    Healthy(
        "rentals_newest_held_out",
        "Rentals of two years.",
        "Validation is the newest quarter, not a random one.",
        _by_season,
        "r2",
        0.8,
    ),
    Healthy(
        "wines_by_winery",
        "Wineries with many bottles each.",
        "Several rows of each winery, kept in one part.",
        _by_winery,
        "accuracy",
        0.88,
    ),
    Healthy(
        "concrete_said_parts",
        "My supervisor chose the parts.",
        "A column says which rows validate, a third of them.",
        _said_parts,
        "r2",
        0.82,
    ),
    Healthy(
        "concrete_two_scales",
        "Strength and price together.",
        "Two targets, one of tens and one of ten thousands.",
        _two_targets,
        "r2",
        0.8,
    ),
    Healthy(
        "plant_tanh",
        "The plant with the old activation.",
        "tanh in the hidden layer, and outputs far beyond 1.",
        lambda folder: plant(folder) | {"model.activation": "tanh", "optimizer.lr": 5e-3},
        "r2",
        0.88,
    ),
    Healthy(
        "wines_large_sgd_rate",
        "SGD with a rate of 0.5, warmed up.",
        "A rate that looks too high; batch norm and a cosine carry it.",
        lambda folder: (
            wines(folder, count=2000)
            | {
                "optimizer.kind": "sgd",
                "optimizer.lr": 0.3,
                "model.norm": "batch",
                "schedule.warmup": "10 %",
                "loop.epochs": 10,
                "loop.batch_size": 64,
            }
        ),
        "accuracy",
        0.88,
    ),
    Healthy(
        "loans_large_batches",
        "Large batches, with epochs to match.",
        "512 of 1920 rows a batch, but 60 epochs and a higher rate.",
        lambda folder: (
            loans(folder) | {"loop.batch_size": 512, "loop.epochs": 60, "optimizer.lr": 6e-3, "model.hidden": [16]}
        ),
        "accuracy",
        0.76,
    ),
    Healthy(
        "balances_plateau",
        "The rate falls when nothing is gained.",
        "A plateau schedule that cuts several times.",
        lambda folder: (
            balances(folder)
            | {
                "schedule.kind": "plateau",
                "schedule.patience": 3,
                "schedule.factor": 0.3,
                "optimizer.lr": 1e-2,
                "loop.epochs": 30,
            }
        ),
        "r2",
        0.85,
    ),
    Healthy(
        "concrete_patience",
        "It may run long, and stops by itself.",
        "Early stopping ends a run of up to 150 epochs, with its best weights kept.",
        lambda folder: (
            concrete(folder)
            | {
                "loop.epochs": 150,
                "loop.early_stopping_patience": 15,
                "schedule.kind": "constant",
                "optimizer.lr": 2e-3,
            }
        ),
        "r2",
        0.84,
    ),
    Healthy(
        "rentals_averaged",
        "Averaged weights.",
        "An exponential moving average validates, which lags at the start.",
        lambda folder: bikes(folder) | {"loop.ema_decay": 0.98},
        "r2",
        0.84,
    ),
    Healthy(
        "queries_ranked",
        "Items of a search, ranked.",
        "The loss is a margin and not a likelihood.",
        lambda folder: ranked(folder),
        "ndcg",
        0.85,
    ),
    Healthy(
        "spiral_long_run",
        "Three arms of a spiral.",
        "Hundreds of small steps, at first nothing is gained.",
        sound.spiral,
        "accuracy",
        0.9,
    ),
    *sound.RUNS,
)
