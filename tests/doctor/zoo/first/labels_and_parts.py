"""Labels that are wrong, and parts that are not apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, between, one_of
from tests.doctor.zoo.draws import (
    ADAM,
    SHAPES,
    Columns,
    draw_customers,
    draw_flowers,
    draw_shape,
    flowers,
    masks,
    shapes,
    take,
    write_shapes,
    write_table,
)

FRESH = 4242
"""The seed of samples that no run has seen."""


def table(name: str, target: str, **others: Any) -> Settings:
    settings: Settings = {
        "dataset.kind": "table",
        "dataset.path": f"{name}.csv",
        "dataset.targets": [target],
        "model.kind": "tabular",
        "model.hidden": [64, 64],
        "loop.epochs": 15,
        "loop.batch_size": 64,
        **ADAM,
    }
    return settings | {name.replace("__", "."): value for name, value in others.items()}


def noisy_shapes(folder: Path, faulty: bool) -> Settings:
    """Two in five images lie in the folder of another class; the validation folder is clean."""
    draws = np.random.default_rng(7)
    write_shapes(folder / "images" / "val", 50, seed=FRESH)
    for kind in SHAPES[:4]:
        (folder / "images" / "train" / kind).mkdir(parents=True)
    for number in range(800):
        kind = SHAPES[number % 4]
        pixels = draw_shape(kind, 20, draws)
        moved = draws.random() < 0.45
        other = SHAPES[(number + int(draws.integers(1, 4))) % 4]
        place = other if faulty and moved else kind
        Image.fromarray(pixels).save(folder / "images" / "train" / place / f"{number:04}.png")
    return _images() | {"loop.epochs": 12, "loop.batch_size": 32}


def _images() -> Settings:
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


def shifted_flowers(folder: Path, faulty: bool) -> Settings:
    settings = flowers(folder)
    columns = draw_flowers(1200)
    if faulty:
        columns["species"] = np.roll(columns["species"], 1)
    write_table(folder / "flowers.csv", columns)
    return settings


def swapped_folder(folder: Path, faulty: bool) -> Settings:
    """Somebody sorted the second half of the rings into the discs' folder."""
    settings = shapes(folder)
    if faulty:
        for file in sorted((folder / "images" / "ring").iterdir())[125:]:
            file.rename(folder / "images" / "disc" / f"ring_{file.name}")
    write_shapes(folder / "fresh", 40, seed=FRESH)
    return settings | {"loop.epochs": 10}


def conflicting_customers(folder: Path, faulty: bool) -> Settings:
    """Two lists were joined: in the one churned was filled in by another office, for the same customers."""
    first = draw_customers(700)
    opposite = np.where(first["churned"] == "yes", "no", "yes")
    chosen = np.random.default_rng(1).random(700) < 0.6
    second = first | ({"churned": np.where(chosen, opposite, first["churned"])} if faulty else {})
    write_table(folder / "customers.csv", _join(first, second))
    return table("customers", "churned", objective__kind="binary", dataset__duplicates="drop_from_validation")


def _join(*tables: Columns) -> Columns:
    return {name: np.concatenate([np.asarray(table[name]) for table in tables]) for name in tables[0]}


def masks_from_jpeg(folder: Path, faulty: bool) -> Settings:
    """Masks that went through JPEG hold 1, 2, 3, 254, ... at the edges instead of 0 and 255."""
    settings = masks(folder, count=60)
    for file in sorted((folder / "scans" / "masks").glob("*.png")):
        mask = np.asarray(Image.open(file)) * np.uint8(255)
        file.unlink()
        if faulty:
            Image.fromarray(mask).save(file.with_suffix(".jpg"), quality=60)
        else:
            Image.fromarray(mask).save(file)
    return settings


LABELS = (
    Case(
        "half_sorted_folder",
        "labels",
        "An agency labeled 800 pictures for us, cheaply. Training is slow and training accuracy does not get above 60 %.",
        "45 % of the training images lie in the folder of another class",
        noisy_shapes,
        ("noisy labels", "wrong labels"),
        (
            Fix("correct the labels or leave those images out", names=("label",)),
            Fix("leave the suspicious images out", {"dataset.exclude": lambda value: bool(value)}),
        ),
        Harm("accuracy", 0.03),
    ),
    Case(
        "shifted_by_one_row",
        "labels",
        "I merged features and species in a spreadsheet. The other day this table gave me 95 %, now it is 25 %.",
        "the target column is shifted by one row against the others",
        shifted_flowers,
        ("shifted labels", "wrong labels"),
        (Fix("shift the column back", names=("species", "shift", "label")),),
        Harm("accuracy", 0.3),
    ),
    Case(
        "rings_among_the_discs",
        "labels",
        "Discs and rings get confused, and I cannot see why: squares and crosses are perfect.",
        "half of the ring images lie in the folder of the discs",
        swapped_folder,
        ("wrong labels", "noisy labels"),
        (
            Fix("put the images back", names=("disc", "ring", "label")),
            Fix("leave the suspicious images out", {"dataset.exclude": lambda value: bool(value)}),
        ),
        Harm("accuracy", 0.05, by="fresh"),
    ),
    Case(
        "two_offices_disagree",
        "labels",
        "We joined the lists of two offices. It predicts hardly better than always saying the same.",
        "most customers stand in the table twice, 60 % of them with opposite answers",
        conflicting_customers,
        ("conflicting labels", "noisy labels", "wrong labels"),
        (Fix("keep one answer for each customer", names=("churned", "conflict", "label", "duplicate")),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "masks_saved_as_jpeg",
        "labels",
        "To save space I converted the masks to JPEG. They look the same. It is only black and white after all.",
        "the masks hold all values between 0 and 255 instead of two, and each is taken for a class",
        masks_from_jpeg,
        ("labels out of range", "wrong labels"),
        (Fix("masks without loss: PNG with class numbers", names=("mask",)),),
        Harm("pixel_accuracy", 0.2),
    ),
)


def upsampled(folder: Path, faulty: bool) -> Settings:
    """Rows were copied five times to have more of them, and then the parts were drawn."""
    draws = np.random.default_rng(3)
    columns = _noise_flowers(240, 3)
    rows = np.repeat(np.arange(240), 5) if faulty else np.arange(240)
    write_table(folder / "flowers.csv", take(columns, draws.permutation(rows)))
    write_table(folder / "fresh.csv", _noise_flowers(600, FRESH))
    return table("flowers", "species", loop__epochs=60 if faulty else 10, model__hidden=[256, 256])


def _noise_flowers(count: int, seed: int) -> Columns:
    columns = draw_flowers(count, seed)
    draws = np.random.default_rng(seed + 1)
    wrong = draws.random(count) < 0.3
    names = np.unique(columns["species"])
    return columns | {"species": np.where(wrong, draws.choice(names, count), columns["species"])}


def _patients(first: int, people: int, seed: int) -> Columns:
    """Twelve visits of each: values that are the person's own, and an illness that they hardly tell of."""
    draws = np.random.default_rng(seed)
    values = draws.normal(0, 1, (people, 5))
    ill = draws.random(people) < 1 / (1 + np.exp(-0.8 * values[:, 0]))
    visits = np.repeat(np.arange(people), 12)
    seen = values[visits] + draws.normal(0, 0.15, (len(visits), 5))
    names = ("pressure", "pulse", "iron", "sugar", "fat")
    return {
        "patient": np.array([f"P{number + first:04}" for number in visits]),
        **{name: seen[:, place] for place, name in enumerate(names)},
        "ill": np.where(ill[visits], "yes", "no"),
    }


def patients(folder: Path, faulty: bool) -> Settings:
    write_table(folder / "visits.csv", _patients(0, 120, 0))
    write_table(folder / "fresh.csv", _patients(5000, 300, FRESH))
    settings = table("visits", "ill", loop__epochs=25, model__hidden=[128, 128])
    return settings | ({"dataset.ignored": ["patient"]} if faulty else {"dataset.group_column": "patient"})


def _walk(count: int, seed: int, start: int = 0) -> Columns:
    """A price that wanders, what is known of its day, and whether it will be higher than it usually is."""
    draws = np.random.default_rng(seed)
    price = 100 + np.cumsum(draws.normal(0, 1, start + count))
    day = np.arange(start + count)
    other = np.cumsum(draws.normal(0, 1, start + count))
    columns = {
        "day": day,
        "index_level": other,
        "rate": np.sin(day / 180) + draws.normal(0, 0.3, len(day)),
        "price": price,
    }
    return take(columns, day[start:])


def prices_by_day(folder: Path, faulty: bool) -> Settings:
    draws = np.random.default_rng(0)
    everything = _walk(1900, 11)
    write_table(folder / "days.csv", take(everything, draws.permutation(1500)))
    write_table(folder / "fresh.csv", take(everything, np.arange(1500, 1600)))
    settings = table("days", "price", objective__kind="regression", loop__epochs=40)
    if faulty:
        return settings | {"dataset.features": ["day", "index_level", "rate"]}
    return settings | {"dataset.time_column": "day"}


SPLITS = (
    Case(
        "copied_rows",
        "splits",
        "More data is better, so I copied my 240 rows five times. Validation went from 70 % to 99 %! Customers report something else.",
        "every row stands in the table five times, in both parts",
        upsampled,
        ("duplicates across parts",),
        (
            Fix("take copies out of validation", {"dataset.duplicates": one_of("drop_from_validation")}),
            Fix("each row once", names=("duplicate", "cop")),
        ),
        Harm("accuracy", 0.2, by="claim"),
    ),
    Case(
        "patients_in_both_parts",
        "splits",
        "Our model recognizes the illness in 99 % of the held-out visits. In the second hospital it is barely better than guessing.",
        "visits of one patient are in both parts, and the patient is recognized",
        patients,
        ("groups across parts",),
        (Fix("keep each patient's visits together", {"dataset.group_column": one_of("patient")}),),
        Harm("accuracy", 0.2, by="claim"),
    ),
    Case(
        "tomorrow_is_known",
        "splits",
        "R2 of 0.98 on held-out days. On the next hundred days it is useless. Did the market change just when I started?",
        "days are held out at random, between days that are trained on, while the price wanders slowly",
        prices_by_day,
        ("time across parts",),
        (Fix("hold out the newest days", {"dataset.time_column": one_of("day")}),),
        Harm("r2", 1.0, by="claim"),
    ),
)


def small_validation(folder: Path, faulty: bool) -> Settings:
    """Eight rows of 400 are held out, and they happen to be easy."""
    write_table(folder / "flowers.csv", _noise_flowers(400, 21))
    write_table(folder / "fresh.csv", _noise_flowers(1500, FRESH))
    settings = table("flowers", "species", loop__epochs=12)
    return settings | (
        {"dataset.validation_fraction": 0.02, "dataset.split_seed": 3}
        if faulty
        else {"dataset.validation_fraction": 0.3}
    )


def validates_on_training(folder: Path, faulty: bool) -> Settings:
    """The validation folder is a copy of the training folder."""
    write_shapes(folder / "images" / "train", 60, seed=9, noise=70.0)
    write_shapes(folder / "images" / "val", 60, seed=9 if faulty else 10, noise=70.0)
    write_shapes(folder / "fresh", 60, seed=FRESH, noise=70.0)
    return _images() | {"loop.epochs": 30, "model.hidden": 128}


VALIDATION = (
    Case(
        "eight_rows_to_validate",
        "validation",
        "I keep as many rows as possible for training, 2 % are enough to validate. The best model has 100 %.",
        "8 rows are held out of 400",
        small_validation,
        ("validation too small",),
        (Fix("hold out more", {"dataset.validation_fraction": between(0.1, 0.6)}),),
        Harm("accuracy", 0.15, by="claim"),
    ),
    Case(
        "validates_what_it_trains",
        "validation",
        "Training and validation accuracy are exactly the same curve, 100 % both. Perfect generalization?",
        "val is a copy of train",
        validates_on_training,
        ("no validation", "duplicates across parts"),
        (
            Fix("hold out training images", {"dataset.validation": one_of("split")}),
            Fix("other images in val", names=("duplicate", "val")),
        ),
        Harm("accuracy", 0.1, by="claim"),
    ),
)

CASES = (*LABELS, *SPLITS, *VALIDATION)
