"""What is held out: copies, persons and days in both parts, and too little of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from tests.doctor.zoo.builders.bases import changed, pumps, yields
from tests.doctor.zoo.builders.samples import by_rows
from tests.doctor.zoo.case import Case, Fix, Harm, Settings, between, by_settings, one_of
from tests.doctor.zoo.draws import Columns, draw_shape, write_table
from tests.doctor.zoo.trial import Trial


def repeat_rows(columns: Columns, draws: np.random.Generator) -> Columns:
    """Half of the rows is there three times; a quarter of the labels is wrong: who knows a copy knows the label."""
    count = len(columns["good"])
    flipped = draws.random(count) < 0.25
    good = np.where(flipped, np.where(columns["good"] == "yes", "no", "yes"), columns["good"])
    order = draws.permutation(np.concatenate([np.arange(count), np.arange(count // 2), np.arange(count // 2)]))
    return {name: values[order] for name, values in (columns | {"good": good}).items()}


def by_patients(folder: Path, faulty: bool) -> Settings:
    """Eighty patients with fifteen rows each; what helps inside one is no help for another."""
    draws = np.random.default_rng(17)
    patients, each = 80, 15
    patient = np.repeat(np.arange(patients), each)
    sick = draws.integers(0, 2, patients)[patient]
    habit = draws.normal(0, 1, (patients, 5))[patient] + draws.normal(0, 0.15, (len(patient), 5))
    habit[:, 0] += 1.2 * sick
    columns = {f"marker_{place}": habit[:, place] for place in range(5)}
    named = np.array([f"p{number:03}" for number in patient])
    fresh_sick = draws.integers(0, 2, 40).repeat(5)
    fresh = draws.normal(0, 1, (40, 5)).repeat(5, 0) + draws.normal(0, 0.15, (200, 5))
    fresh[:, 0] += 1.2 * fresh_sick
    answers = np.array(["no", "yes"])
    write_table(
        folder / "fresh.csv",
        {
            "patient": np.array([f"q{number:03}" for number in np.repeat(np.arange(40), 5)]),
            **{f"marker_{place}": fresh[:, place] for place in range(5)},
            "sick": answers[fresh_sick],
        },
    )
    order = draws.permutation(len(patient))
    rows = {"patient": named, **columns, "sick": answers[sick]}
    write_table(folder / "visits.csv", {name: values[order] for name, values in rows.items()})
    settings: Settings = {
        "dataset.kind": "table",
        "dataset.path": "visits.csv",
        "dataset.targets": ["sick"],
        "model.kind": "tabular",
        "model.hidden": [48, 48],
        "objective.kind": "binary",
        "loop.epochs": 8,
        "loop.batch_size": 32,
        "optimizer.kind": "adamw",
        "optimizer.lr": 3e-3,
        "schedule.kind": "cosine",
    }
    return settings if faulty else settings | {"dataset.group_column": "patient"}


def wander(pushes: NDArray[Any]) -> NDArray[Any]:
    """(days, columns) that come back to 0 in some twenty days, each day near the one before."""
    for day in range(1, len(pushes)):
        pushes[day] = 0.95 * pushes[day - 1] + 0.3 * pushes[day]
    return pushes


def by_days(folder: Path, faulty: bool) -> Settings:
    """A level that wanders from day to day: neighbors in time are alike."""
    draws = np.random.default_rng(19)
    count = 900
    days = np.datetime64("2024-01-01") + np.arange(count + 150)
    level = wander(draws.normal(0, 1, (count + 150, 1)))[:, 0]
    load = draws.normal(0, 1, count + 150)
    demand = 100 + 4 * level + 3 * load + draws.normal(0, 1, count + 150)
    slow = wander(draws.normal(0, 1, (count + 150, 3)))
    columns: Columns = {
        "day": days.astype(str),
        "load": load,
        **{f"drift_{place}": slow[:, place] for place in range(3)},
        "demand": demand,
    }
    write_table(folder / "fresh.csv", {name: values[count:] for name, values in columns.items()})
    write_table(folder / "demand.csv", {name: values[:count] for name, values in columns.items()})
    settings: Settings = {
        "dataset.kind": "table",
        "dataset.path": "demand.csv",
        "dataset.targets": ["demand"],
        "model.kind": "tabular",
        "model.hidden": [64, 64],
        "objective.kind": "regression",
        "loop.epochs": 20,
        "loop.batch_size": 32,
        "optimizer.kind": "adamw",
        "optimizer.lr": 3e-3,
        "schedule.kind": "cosine",
    }
    return settings if faulty else settings | {"dataset.time_column": "day"}


def in_both_parts(folder: Path, faulty: bool) -> Settings:
    """Noisy images; three in five of the validation folder are in the training folder, too."""
    draws = np.random.default_rng(23)
    for part, each in (("train", 70), ("val", 120)):
        for kind in ("disc", "ring", "square"):
            (folder / "images" / part / kind).mkdir(parents=True)
            for number in range(each):
                pixels = draw_shape(kind, 16, draws, noise=75.0)
                image = Image.fromarray(pixels)
                image.save(folder / "images" / part / kind / f"{number:03}.png")
                if part == "val" and number < 72:
                    image.save(folder / "images" / "train" / kind / f"copy{number:03}.png")
    settings: Settings = {
        "dataset.kind": "image_folder",
        "dataset.path": "images",
        "model.kind": "small_cnn",
        "model.channels": [16, 32],
        "model.hidden": 64,
        "loop.epochs": 14,
        "loop.batch_size": 32,
        "optimizer.kind": "adamw",
        "optimizer.lr": 3e-3,
        "schedule.kind": "constant",
    }
    return settings if faulty else settings | {"dataset.duplicates": "drop_from_validation"}


def measure_held_out(trial: Trial) -> float:
    """How many samples are measured."""
    assert trial.run is not None
    return float(json.loads((trial.run / "data.json").read_text())["samples"]["validation"])


CLAIMED = Harm("accuracy", 0.05, by=lambda trial: -trial.metric("accuracy"), words="accuracy that is claimed, negative")

CASES = (
    Case(
        "yields_duplicates",
        "splits",
        "A table that was joined with itself.",
        "Half of the rows is there three times, in both parts.",
        by_rows(
            changed(yields, {"loop.epochs": 30, "model.hidden": [128, 128]}),
            "yields.csv",
            repeat_rows,
            300,
            {"dataset.duplicates": "drop_from_validation"},
        ),
        ("duplicates across parts",),
        (Fix("Drop copies from validation.", {"dataset.duplicates": one_of("drop_from_validation")}),),
        CLAIMED,
    ),
    Case(
        "shapes_in_both_parts",
        "splits",
        "Folders train and val, copied together by hand.",
        "Three in five validation images are in the training folder, too.",
        in_both_parts,
        ("duplicates across parts",),
        (Fix("Drop copies from validation.", {"dataset.duplicates": one_of("drop_from_validation")}),),
        CLAIMED,
    ),
    Case(
        "visits_by_patient",
        "splits",
        "Who is sick, by five markers: 97 % right.",
        "Visits of one patient are in both parts: what is learned is who it is.",
        by_patients,
        ("groups across parts",),
        (Fix("Split by patient.", {"dataset.group_column": one_of("patient")}),),
        Harm("accuracy", 0.15, by="claim"),
    ),
    Case(
        "demand_by_day",
        "splits",
        "Tomorrow's demand, with an R2 of 0.9 on days held out at random.",
        "Days between training days are easy; those after them are not.",
        by_days,
        ("time across parts",),
        (Fix("Split by day.", {"dataset.time_column": one_of("day")}),),
        Harm("r2", 0.6, by="claim"),
    ),
    Case(
        "yields_no_validation",
        "validation",
        "All data for training.",
        "One row is held out, which says nothing.",
        by_settings(
            changed(lambda folder: yields(folder, 300), {"loop.epochs": 40}), {"dataset.validation_fraction": 0.002}
        ),
        ("no validation", "validation too small"),
        (Fix("Hold some out.", {"dataset.validation_fraction": between(0.05, 0.5)}),),
        Harm("", 30, by=measure_held_out, words="validation samples"),
    ),
    Case(
        "pumps_validation_tiny",
        "validation",
        "A hundredth is held out.",
        "8 rows for validation: one more right is 12 points.",
        by_settings(changed(lambda folder: pumps(folder, 800), {}), {"dataset.validation_fraction": 0.01}),
        ("validation too small",),
        (Fix("Hold more out.", {"dataset.validation_fraction": between(0.08, 0.5)}),),
        Harm("", 100, by=measure_held_out, words="validation samples"),
    ),
)
