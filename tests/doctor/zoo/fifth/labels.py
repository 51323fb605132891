"""Labels that are wrong, shifted, noisy or in conflict."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.doctor.zoo.case import Case, Fix, Harm, Settings
from tests.doctor.zoo.draws import write_table
from tests.doctor.zoo.fifth.data import (
    ADAMW,
    bikes,
    draw_bikes,
    draw_wines,
)
from tests.doctor.zoo.fifth.pictures import (
    WAYS,
    arrows,
    digits,
    draw_arrow,
    draw_digits,
    write_classes,
)


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


CASES = (
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
        (Fix("Have the rows labeled again.", names=("cultivar", "wines.csv", "label")),),
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
)
