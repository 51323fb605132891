"""Data that says something false: its labels, its parts, its columns, and what it is validated on."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path

import numpy as np

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, between, by_settings, has, one_of
from tests.doctor.zoo.draws import Columns, take, write_table
from tests.doctor.zoo.edit import edit
from tests.doctor.zoo.fifth.data import (
    ADAMW,
    bikes,
    draw_bikes,
    draw_loans,
    draw_wines,
    loans,
    wines,
)
from tests.doctor.zoo.fifth.networks import CNN, CONV1D, own
from tests.doctor.zoo.fifth.pictures import (
    WAYS,
    arrows,
    digits,
    draw_arrow,
    draw_digits,
    draw_waves,
    waves,
    write_classes,
)
from tests.doctor.zoo.fifth.preparation import own_digits
from tests.doctor.zoo.trial import Trial

# Labels.


def _shifted_rentals(folder: Path, fault: bool) -> Settings:
    settings = bikes(folder)
    columns = draw_bikes(3000)
    if fault:
        columns["rentals"] = np.roll(columns["rentals"], 1)
    write_table(folder / "bikes.csv", columns)
    return settings


def _misfiled(folder: Path, fault: bool) -> Settings:
    """Arrows of which two thirds of the left ones lie among the right."""
    settings = arrows(folder)
    write_classes(folder / "fresh", draw_arrow, WAYS, 60, 24, seed=77)
    if fault:
        for number in range(0, 220, 3):
            for offset in (0, 1):
                path = folder / "images" / "left" / f"{number + offset:04}.png"
                if path.exists():
                    path.rename(folder / "images" / "right" / f"scan_{number + offset:04}.png")
    return settings | {"objective.balanced": False}


def _crowd(folder: Path, fault: bool) -> Settings:
    """Cultivars that 40 % of the rows have from somebody who guessed; fresh ones are right."""
    columns = draw_wines(1500, 51, cultivars=4)
    write_table(folder / "fresh.csv", draw_wines(500, 52, cultivars=4))
    if fault:
        draws = np.random.default_rng(5)
        guessed = draws.random(1500) < 0.55
        columns["cultivar"] = np.where(guessed, draws.permutation(columns["cultivar"]), columns["cultivar"])
    write_table(folder / "wines.csv", columns)
    return {
        "dataset.kind": "table",
        "dataset.path": "wines.csv",
        "dataset.targets": ["cultivar"],
        "model.kind": "mlp",
        "model.hidden": [24],
        "loop.epochs": 15,
        "loop.batch_size": 32,
        **ADAMW,
    }


def _two_readers(folder: Path, fault: bool) -> Settings:
    """Digits of which most were read by a second person, who often read another one."""
    images, labels = draw_digits(1600, 61)
    if fault:
        draws = np.random.default_rng(6)
        again = draws.random(1600) < 0.8
        second = np.where(draws.random(1600) < 0.7, (labels + draws.integers(1, 10, 1600)) % 10, labels)
        images, labels = np.concatenate([images, images[again]]), np.concatenate([labels, second[again]])
        order = draws.permutation(len(labels))
        images, labels = images[order], labels[order]
    np.savez(folder / "digits.npz", x=images, y=labels)
    fresh, told = draw_digits(500, 62)
    np.savez(folder / "fresh.npz", x=fresh, y=told)
    settings = digits(folder, count=40)
    np.savez(folder / "digits.npz", x=images, y=labels)
    return settings


def _counted_from_one(folder: Path, fault: bool) -> Settings:
    """Digits whose classes are 1 to 10, and a network with ten outputs."""
    changes = [("int(self.labels[index])", "int(self.labels[index]) + 1")]
    settings = own_digits(folder, *(changes if fault else ()))
    (folder / "network.py").write_text(edit(CNN, ("nn.Linear(48, classes)", "nn.Linear(48, 10)")))
    kept = {name: value for name, value in settings.items() if not name.startswith("model.")}
    return kept | {"model.kind": "user_file", "model.path": "network.py"}


LABELS = (
    Case(
        "rentals_of_the_row_above",
        "labels",
        "I pasted the rentals next to the weather in a spreadsheet. R2 is zero. The weather must not matter then?",
        "The column of targets is one row lower than the rest.",
        _shifted_rentals,
        ("shifted labels",),
        (Fix("Shift the target back.", names=("rentals", "bikes.csv", "row")),),
        Harm("r2", 0.4),
    ),
    Case(
        "arrows_misfiled",
        "labels",
        "The intern sorted the pictures. The class 'left' is predicted all too rarely by the finished model.",
        "Two thirds of the left arrows lie in the folder right.",
        _misfiled,
        ("wrong labels", "noisy labels"),
        (Fix("Sort them again.", names=("left", "right", "scan_", "label")),),
        Harm("accuracy", 0.1, by="fresh"),
    ),
    Case(
        "wines_guessed_by_crowd",
        "labels",
        "Labels are from volunteers at a tasting, paid by the glass. Training gets stuck at half right.",
        "Over half of the rows have the label of somebody who guessed.",
        _crowd,
        ("noisy labels", "wrong labels"),
        (
            Fix("Have the rows labeled again.", names=("cultivar", "wines.csv", "label")),
            Fix("Smooth the labels.", {"objective.label_smoothing": between(0.05, 0.5)}),
        ),
        Harm("accuracy", 0.2),
    ),
    Case(
        "digits_read_twice",
        "labels",
        "Two people read the meters, to be on the safe side, and both readings are in the data. Training accuracy ends at 70 %.",
        "The same image occurs with two different labels.",
        _two_readers,
        ("conflicting labels", "noisy labels", "duplicates across parts"),
        (Fix("Agree on one label of each image.", names=("y", "digits.npz", "label")),),
        Harm("accuracy", 0.15),
    ),
    Case(
        "meters_counted_from_one",
        "labels",
        "In my file classes are numbered from 1, as people count. It says that a target is out of bounds, or whatever that means.",
        "Classes 1 to 10 for a network with ten outputs, 0 to 9.",
        _counted_from_one,
        ("labels out of range",),
        (Fix("Count the classes from 0.", names=("labels", "dataset.py", "Digits", "Classifier", "network.py", "10")),),
        Harm("accuracy", 0, by="refused"),
    ),
)

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
    """Hourly use of gas, with a sensor whose zero wanders in the course of the year."""
    draws = np.random.default_rng(seed)
    day = np.arange(first, first + days, 0.5)
    cold = draws.normal(0, 1, len(day))
    wind = draws.gamma(2, 1, len(day))
    wander = 1.3 * np.sin(2 * np.pi * day / 150 + 0.7)
    use = 8 + 1.4 * cold + 0.5 * (wind - 2) + wander + draws.normal(0, 0.25, len(day))
    return {"day": day, "degrees_below": 12 + 6 * cold, "wind": wind, "gas": use}


def _gas(folder: Path, fault: bool) -> Settings:
    write_table(folder / "gas.csv", _meter(900, 0, 83))
    write_table(folder / "fresh.csv", _meter(300, 900, 84))
    settings: Settings = {
        "dataset.kind": "table",
        "dataset.path": "gas.csv",
        "dataset.targets": ["gas"],
        "dataset.validation_fraction": 0.25,
        "model.kind": "tabular",
        "model.hidden": [64, 64],
        "model.frequencies": 8,
        "objective.kind": "regression",
        "loop.epochs": 18,
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
        if fault:
            failed = columns["defaulted"] == "yes"
            fee = np.where(failed, np.random.default_rng(seed).uniform(20, 90, count), 0.0)
            columns = {"collection_fee": fee if known else np.zeros(count), **columns}
        write_table(folder / path, columns)
    return settings


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


def _holes(folder: Path, fault: bool) -> Settings:
    inputs, labels = draw_waves(1500, 99)
    if fault:
        inputs = inputs.copy()
        inputs[::53, 20] = np.nan
        inputs[7, 3] = np.inf
    settings = own(folder, waves(folder, count=40), CONV1D)
    np.savez(folder / "waves.npz", x=inputs, y=labels)
    return settings


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
    Case(
        "pump_with_holes",
        "data",
        "The logger writes NaN when the cable is loose. numpy did not complain.",
        "Some samples have NaN, one infinity.",
        _holes,
        ("non-finite values",),
        (Fix("Fill them or leave them out.", names=("x", "waves.npz", "nan", "NaN")),),
        Harm("accuracy", 0, by="refused"),
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
            Fix("Take the copies out of validation.", {"dataset.duplicates": one_of("drop_from_validation")}),
        ),
        Harm("accuracy", 0.06, by="claim"),
    ),
)

CASES = (*LABELS, *SPLITS, *DATA, *VALIDATION)
