"""Data that says something false: its parts, its columns, and what it is validated on."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path

import numpy as np

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, between, by_settings, has, one_of
from tests.doctor.zoo.draws import Columns, take, write_table
from tests.doctor.zoo.fifth.data import (
    ADAMW,
    draw_loans,
    loans,
    wines,
)
from tests.doctor.zoo.fifth.pictures import (
    digits,
    draw_digits,
)
from tests.doctor.zoo.trial import Trial

# Parts.

_STOPPED: Settings = {
    "loop.epochs": 80,
    "loop.early_stopping_patience": 4,
    "checkpoints.monitor": "val/loss",
    "schedule.kind": "constant",
}


def _tangled(count: int, seed: int) -> Columns:
    """Loans that are hard to tell, of which a large network can only learn the single rows."""
    columns = draw_loans(count, seed)
    draws = np.random.default_rng(seed + 1)
    noisy = draws.random(count) < 0.22
    columns["defaulted"] = np.where(noisy, draws.permutation(columns["defaulted"]), columns["defaulted"])
    for name in ("distance_to_branch", "months_at_address", "card_limit"):
        columns[name] = draws.normal(50, 12, count)
    return columns


def _copied_rows(folder: Path, fault: bool) -> Settings:
    columns = _tangled(2000, 71)
    if fault:
        columns = take(columns, np.random.default_rng(8).permutation(np.repeat(np.arange(2000), 4)))
    write_table(folder / "loans.csv", columns)
    write_table(folder / "fresh.csv", _tangled(3000, 73))
    return {
        "dataset.kind": "table",
        "dataset.path": "loans.csv",
        "dataset.targets": ["defaulted"],
        "dataset.validation_fraction": 0.3,
        "model.kind": "tabular",
        "model.hidden": [96, 96],
        "objective.kind": "binary",
        "loop.batch_size": 64,
        "optimizer.kind": "adamw",
        "optimizer.lr": 1e-3,
        **_STOPPED,
    }


def _bearings(count: int, seed: int, first: int) -> Columns:
    """Windows of recordings of ``count`` machines, 15 of each; whether a machine is worn is hard to tell of new ones."""
    draws = np.random.default_rng(seed)
    worn = draws.random(count) < 0.5
    own = draws.normal(0, 1, (count, 8))
    own[:, 0] += np.where(worn, 0.8, -0.8)
    own[:, 1] += np.where(worn, -0.5, 0.5)
    machine = np.repeat(np.arange(count), 15)
    values = own[machine] + draws.normal(0, 0.12, (len(machine), 8))
    names = ("rms", "kurtosis", "crest", "band_1", "band_2", "band_3", "skew", "temperature")
    return {
        "machine": np.array([f"M{first + number:03}" for number in machine]),
        **{name: values[:, place] for place, name in enumerate(names)},
        "worn": np.where(worn[machine], "yes", "no"),
    }


def _machines(folder: Path, fault: bool) -> Settings:
    write_table(folder / "bearings.csv", _bearings(220, 81, 0))
    write_table(folder / "fresh.csv", _bearings(260, 82, 500))
    settings: Settings = {
        "dataset.kind": "table",
        "dataset.path": "bearings.csv",
        "dataset.targets": ["worn"],
        "dataset.validation_fraction": 0.3,
        "model.kind": "tabular",
        "model.hidden": [64, 64],
        "objective.kind": "binary",
        "loop.batch_size": 64,
        "optimizer.kind": "adamw",
        "optimizer.lr": 5e-4,
        **_STOPPED,
        "loop.epochs": 50,
    }
    return settings | ({"dataset.ignored": ["machine"]} if fault else {"dataset.group_column": "machine"})


def _meter(days: int, first: int, seed: int) -> Columns:
    """Use of gas by half days, with a sensor whose zero wanders slowly."""
    draws = np.random.default_rng(seed)
    day = np.arange(first, first + days, 0.5)
    cold = draws.normal(0, 1, len(day))
    wind = draws.gamma(2, 1, len(day))
    wander = -1.3 * np.cos(2 * np.pi * day / 450)
    use = 8 + 1.4 * cold + 0.5 * (wind - 2) + wander + draws.normal(0, 0.25, len(day))
    return {"day": day, "degrees_below": 12 + 6 * cold, "wind": wind, "gas": use}


def _gas(folder: Path, fault: bool) -> Settings:
    write_table(folder / "gas.csv", _meter(900, 0, 83))
    write_table(folder / "fresh.csv", _meter(225, 900, 84))
    settings: Settings = {
        "dataset.kind": "table",
        "dataset.path": "gas.csv",
        "dataset.targets": ["gas"],
        "dataset.validation_fraction": 0.25,
        "model.kind": "tabular",
        "model.hidden": [64, 64],
        "objective.kind": "regression",
        "loop.epochs": 40,
        "loop.batch_size": 64,
        "optimizer.weight_decay": 0.05,
        **ADAMW,
    }
    return settings | ({} if fault else {"dataset.time_column": "day"})


SPLITS = (
    Case(
        "loans_oversampled_first",
        "splits",
        "To have more data I repeated each row four times before training. Validation says 93 %, the branch says 'no better than before'.",
        "Each row is there four times, and lies in both parts.",
        _copied_rows,
        ("duplicates across parts",),
        (
            Fix("Take the copies out of validation.", {"dataset.duplicates": one_of("drop_from_validation")}),
            Fix("Do not repeat rows.", names=("loans.csv", "row", "copies", "duplicates")),
        ),
        Harm("accuracy", 0.08, by="claim"),
    ),
    Case(
        "bearings_of_known_machines",
        "splits",
        "Worn bearings are found in 98 % of the recordings, until the first machine from another hall.",
        "Fifteen windows of one machine's recording are spread over both parts.",
        _machines,
        ("groups across parts",),
        (
            Fix("Keep machines together.", {"dataset.group_column": one_of("machine")}),
            Fix("Keep machines together.", names=("machine",)),
        ),
        Harm("accuracy", 0.08, by="claim"),
    ),
    Case(
        "gas_meter_shuffled_days",
        "splits",
        "R2 of 0.97 for the use of gas by weather and date. For next month it is far off.",
        "Days are held out at random: each has its neighbors in training, from which the wandering sensor can be read off.",
        _gas,
        ("time across parts",),
        (
            Fix("Hold the newest days out.", {"dataset.time_column": one_of("day")}),
            Fix("Hold the newest days out.", names=("day",)),
        ),
        Harm("r2", 0.15, by="claim"),
    ),
)

# Columns.


def _leak(folder: Path, fault: bool) -> Settings:
    """Loans with a fee that is only charged after a default; on fresh ones nobody knows it yet."""
    settings = loans(folder)
    for path, count, seed, known in (("loans.csv", 2400, 0, True), ("fresh.csv", 800, 95, False)):
        columns = draw_loans(count, seed)
        failed = columns["defaulted"] == "yes"
        fee = np.where(failed & known, np.random.default_rng(seed).uniform(20, 90, count), 0.0)
        write_table(folder / path, {"collection_fee": fee, **columns})
    return settings | ({} if fault else {"dataset.ignored": ["collection_fee"]})


def _numbered(folder: Path, fault: bool) -> Settings:
    """Loans sorted by how they ended, with a number in each row that goes on in fresh ones."""
    columns = draw_loans(2400, 97, bias=-0.3)
    columns = take(columns, np.argsort(columns["defaulted"], kind="stable"))
    fresh = draw_loans(800, 98, bias=-0.3)
    write_table(folder / "loans.csv", {"client_no": np.arange(10_000, 12_400), **columns})
    write_table(folder / "fresh.csv", {"client_no": np.arange(12_400, 13_200), **fresh})
    settings: Settings = {
        "dataset.kind": "table",
        "dataset.path": "loans.csv",
        "dataset.targets": ["defaulted"],
        "model.kind": "tabular",
        "model.hidden": [32, 16],
        "objective.kind": "binary",
        "loop.epochs": 12,
        "loop.batch_size": 64,
        **ADAMW,
    }
    return settings | ({"dataset.uninformative": "keep"} if fault else {"dataset.ignored": ["client_no"]})


def _rare(folder: Path) -> Settings:
    """Failures of machines, 3 % of the rows."""
    draws = np.random.default_rng(13)
    failing = draws.random(4000) < 0.03
    columns = {
        "torque": 40 + 9 * draws.normal(0, 1, 4000) + 11 * failing,
        "speed": 1500 + 170 * draws.normal(0, 1, 4000) - 190 * failing,
        "wear": draws.uniform(0, 250, 4000) + 60 * failing,
        "heat": 300 + 2 * draws.normal(0, 1, 4000) + 2.2 * failing,
        "failure": np.where(failing, "yes", "no"),
    }
    write_table(folder / "machines.csv", columns)
    return {
        "dataset.kind": "table",
        "dataset.path": "machines.csv",
        "dataset.targets": ["failure"],
        "dataset.validation_fraction": 0.3,
        "model.kind": "tabular",
        "model.hidden": [16],
        "objective.kind": "binary",
        "objective.balanced": True,
        "loop.epochs": 20,
        "loop.batch_size": 64,
        **ADAMW,
    }


DATA = (
    Case(
        "loans_with_collection_fee",
        "data",
        "99.9 % on the very first try! The bank tried it on new applications and it approved all of them.",
        "collection_fee is charged only of those who defaulted.",
        _leak,
        ("target leak",),
        (
            Fix("Leave the column out.", {"dataset.ignored": has("collection_fee")}),
            Fix(
                "Name the columns to take.",
                {"dataset.features": lambda value: bool(value) and "collection_fee" not in value},
            ),
        ),
        Harm("accuracy", 0.1, by="claim"),
    ),
    Case(
        "clients_sorted_by_fate",
        "data",
        "The program wanted to drop the client number, I made it keep it: one never knows. Validation is perfect, new clients all default.",
        "The file is sorted by the target, so that the running number tells it.",
        _numbered,
        ("identifier as feature", "target leak"),
        (
            Fix("Leave it out.", {"dataset.ignored": has("client_no")}),
            Fix("Let the program leave it out.", {"dataset.uninformative": one_of("leave_out")}),
            Fix(
                "Name the columns to take.",
                {"dataset.features": lambda value: bool(value) and "client_no" not in value},
            ),
        ),
        Harm("accuracy", 0.15, by="claim"),
    ),
    Case(
        "failures_never_found",
        "data",
        "97 % accuracy! And not one failure among those it reported in a year.",
        "3 % of the rows are failures, and nothing makes them count.",
        by_settings(_rare, {"objective.balanced": False}),
        ("class imbalance",),
        (
            Fix("Balance the loss.", {"objective.balanced": one_of(True)}),
            Fix("Weigh failures.", {"objective.pos_weight": between(4, 100)}),
            Fix("Draw balanced batches.", {"loader.sampling": one_of("balanced")}),
            Fix("A lower threshold.", {"objective.threshold": between(0.05, 0.3)}),
        ),
        Harm("recall", 0.25),
    ),
)

# Validation.


def _standard_error(trial: Trial) -> float:
    """Minus that of an accuracy of 90 % on the run's validation rows, of 1400."""
    with (trial.folder / "config.toml").open("rb") as file:
        share: float = tomllib.load(file)["dataset"].get("validation_fraction", 0.2)
    return -math.sqrt(0.09 / max(1400 * share, 1))


def _seen_before(folder: Path, fault: bool) -> Settings:
    """Noisy digits in parts that the person made."""
    images, labels = draw_digits(3000, 68, noise=70.0)
    fresh, told = draw_digits(800, 69, noise=70.0)
    np.savez(folder / "fresh.npz", x=fresh, y=told)
    held = slice(0, 500) if fault else slice(2500, 3000)
    settings = digits(folder, count=40)
    np.savez(
        folder / "digits.npz", x_train=images[:2500], y_train=labels[:2500], x_val=images[held], y_val=labels[held]
    )
    return settings | {
        **_STOPPED,
        "loop.epochs": 16,
        "optimizer.lr": 2e-3,
        "model.dropout": 0.2,
        "loop.early_stopping_patience": 3,
    }


VALIDATION = (
    Case(
        "wines_fourteen_to_check",
        "validation",
        "Each row in validation is one less to learn from, so I hold one percent out. Accuracy is 100 % in one epoch and 86 % in the next.",
        "1 % of 1400 rows validate: one row is 7 % of accuracy.",
        by_settings(wines, {"dataset.validation_fraction": 0.01}),
        ("validation too small",),
        (Fix("Hold more rows out.", {"dataset.validation_fraction": between(0.08, 0.5)}),),
        Harm("accuracy", 0.03, by=_standard_error, words="minus the standard error of accuracy"),
    ),
    Case(
        "meters_checked_on_training",
        "validation",
        "I had no validation images, so I took some of the training ones; the program insists on having any. 100 %!",
        "x_val is the beginning of x_train: nothing new is ever looked at.",
        _seen_before,
        ("no validation", "duplicates across parts"),
        (
            Fix("Validate on other images.", names=("x_val", "digits.npz")),
            Fix("Hold some out.", {"dataset.validation": one_of("split")}),
        ),
        Harm("accuracy", 0.06, by="claim"),
    ),
)

CASES = (*SPLITS, *DATA, *VALIDATION)
