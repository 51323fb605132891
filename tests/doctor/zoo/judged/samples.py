"""What is wrong with the samples: their labels, their parts, their columns, and how they are prepared."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, between, by_settings, has, lacks, one_of
from tests.doctor.zoo.draws import Columns, take, write_table
from tests.doctor.zoo.judged.activations import either
from tests.doctor.zoo.judged.losses import rain
from tests.doctor.zoo.judged.networks import edit
from tests.doctor.zoo.judged.pictures import (
    CNN,
    STROKES,
    VIBRATIONS,
    cells,
    draw_leaves,
    draw_letter,
    draw_letters,
    draw_recipes,
    drops,
    leaves,
    letters,
    recipes,
    vibrations,
    write_folders,
)
from tests.doctor.zoo.judged.tables import (
    adam,
    arm,
    changed,
    concrete,
    draw_arm,
    draw_hearts,
    draw_minerals,
    hearts,
    heating,
    minerals,
    table,
)
from tests.doctor.zoo.trial import Trial

Write = Callable[[Path, bool], Settings]


def guessed_hearts(folder: Path, fault: bool) -> Settings:
    """A third of the diagnoses are anything."""
    columns = draw_hearts(3000, 61)
    write_table(folder / "fresh.csv", draw_hearts(800, 62))
    settings = hearts(folder)
    if fault:
        draws = np.random.default_rng(61)
        guessed = draws.random(3000) < 0.6
        columns["disease"] = np.where(guessed, draws.choice(["yes", "no"], 3000), columns["disease"])
    write_table(folder / "hearts.csv", columns)
    return settings | {"optimizer.lr": 2e-3}


def renamed_letters(folder: Path, fault: bool) -> Settings:
    """Sixty in a hundred of the images of v lie in the folder of y."""
    drawn = {letter: list(images) for letter, images in draw_letters(280, 20, 8, 63, 18.0).items()}
    if fault:
        for one, other in (("v", "y"), ("h", "n")):
            drawn[other] += drawn[one][120:]
            drawn[one] = drawn[one][:120]
    write_folders(folder / "letters", {letter: np.stack(images) for letter, images in drawn.items()})
    write_folders(folder / "fresh", draw_letters(60, 20, 8, 64, 18.0))
    return {"dataset.kind": "image_folder", "dataset.path": "letters", "dataset.color": "grey", **CNN}


def rolled_arm(folder: Path, fault: bool) -> Settings:
    """Each position belongs to the angles of the sample before."""
    settings = arm(folder)
    angles, hand = draw_arm(2600, 65)
    hand = np.roll(hand, 1, axis=0) if fault else hand
    np.savez(folder / "arm.npz", x=angles.astype(np.float32), y=hand.astype(np.float32))
    return settings


def two_opinions(folder: Path, fault: bool) -> Settings:
    """Two collectors named the same stones; with the fault the second took half of pyrite for topaz and so on."""
    columns = draw_minerals(2400, 66, 6)
    write_table(folder / "fresh.csv", draw_minerals(700, 67, 6))
    settings = minerals(folder, kinds=6)
    names = np.unique(columns["mineral"])
    second = take(columns, np.arange(2400))
    if fault:
        others = dict(zip(names, np.roll(names, 1), strict=True))
        rows = np.random.default_rng(66).choice(2400, 1000, replace=False)
        again = take(columns, rows)
        again["mineral"] = np.array([others[name] for name in again["mineral"]])
        second = {name: np.concatenate([columns[name], again[name]]) for name in columns}
    write_table(folder / "minerals.csv", second)
    return settings | {"dataset.targets": ["mineral"]}


COUNTED = edit(
    VIBRATIONS,
    ('    classes = ["smooth", "square", "saw", "pulse"]\n\n', ""),
    ("int(self.kinds[index])", "int(self.kinds[index]) + 1"),
)


def oversampled(folder: Path, fault: bool) -> Settings:
    """Rare sick people; with the fault each stands in the table eight times, and then parts are drawn."""
    columns = draw_hearts(6000, 68, sharpness=1.0)
    draws = np.random.default_rng(68)
    sick = columns["disease"] == "yes"
    rare = take(columns, ~sick | (draws.random(6000) < 0.12))
    write_table(folder / "fresh.csv", take(draw_hearts(2000, 69, sharpness=1.0), np.arange(2000)))
    settings = table(folder, "hearts", rare, "disease")
    if fault:
        rows = np.arange(len(rare["age"]))
        ill = rows[rare["disease"] == "yes"]
        every = draws.permutation(np.concatenate([rows, *[ill] * 7]))
        write_table(folder / "hearts.csv", take(rare, every))
    return {
        **settings,
        "model.kind": "tabular",
        "model.hidden": [128, 128] if fault else [16],
        "objective.kind": "binary",
        "objective.balanced": not fault,
        "loop.epochs": 60 if fault else 15,
        "loop.batch_size": 64,
        **adam(3e-3),
    }


def herd(folder: Path, fault: bool) -> Settings:
    """Lameness of cows by their steps, twelve days of each cow, who walks as she always walks."""
    draws = np.random.default_rng(70)

    def days(cows: int, first: int) -> Columns:
        lame = draws.random(cows) < 0.5
        habit = draws.normal(0, 1.0, (cows, 6))
        cow = np.repeat(np.arange(cows), 12)
        values = habit[cow] + 0.75 * lame[cow, None] * np.array([1, -1, 0.7, 0, 0, 0]) + draws.normal(0, 0.12, (len(cow), 6))
        names = ("stride", "pace", "sway", "head", "rest", "turns")
        columns: Columns = {"cow": [f"cow-{first + each:03}" for each in cow]}
        columns |= {name: values[:, place] for place, name in enumerate(names)}
        return columns | {"lame": np.where(lame[cow], "yes", "no")}

    columns = days(220, 0)
    order = draws.permutation(len(columns["lame"]))
    write_table(folder / "herd.csv", take(columns, order))
    write_table(folder / "fresh.csv", days(120, 500))
    return {
        "dataset.kind": "table",
        "dataset.path": "herd.csv",
        "dataset.targets": ["lame"],
        **({"dataset.ignored": ["cow"]} if fault else {"dataset.group_column": "cow"}),
        "model.kind": "tabular",
        "model.hidden": [48, 48] if fault else [48, 48],
        "objective.kind": "binary",
        "loop.epochs": 20,
        "loop.batch_size": 64,
        **adam(3e-3),
    }


CASES: tuple[Case, ...] = ()
_ = (math, Image, by_settings, has, lacks, one_of, between, rain, STROKES, cells, draw_leaves, draw_letter, draw_recipes)
__ = (drops, leaves, letters, recipes, vibrations, changed, concrete, heating, either, partial, Fix, Harm, Trial)
