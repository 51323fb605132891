"""What is wrong with the samples: their labels, and what is trained on and what is validated on."""

from __future__ import annotations

import json
import math
from functools import partial
from pathlib import Path

import numpy as np

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, between, by_settings, has, lacks, one_of
from tests.doctor.zoo.draws import Columns, take, write_table
from tests.doctor.zoo.edit import edit
from tests.doctor.zoo.third.activations import either
from tests.doctor.zoo.third.pictures import (
    CNN,
    CONV1D,
    VIBRATIONS,
    draw_leaves,
    draw_letters,
    vibrations,
    write_folders,
)
from tests.doctor.zoo.third.tables import (
    adam,
    arm,
    changed,
    draw_arm,
    draw_hearts,
    hearts,
    minerals,
    table,
)
from tests.doctor.zoo.trial import Trial


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


COUNTED = edit(
    VIBRATIONS,
    ('    classes = ["smooth", "square", "saw", "pulse"]\n\n', ""),
    ("int(self.kinds[index])", "int(self.kinds[index]) + 1"),
)


NETWORK_OF_FOUR = edit(CONV1D, ("Listener(classes)", "Listener(4)"))


STOPS: Settings = {"loop.early_stopping_patience": 3}


def oversampled(folder: Path, fault: bool) -> Settings:
    """Rare sick people; with the fault each stands in the table eight times, and then parts are drawn."""
    columns = draw_hearts(9000, 68, sharpness=1.2)
    draws = np.random.default_rng(68)
    sick = columns["disease"] == "yes"
    rare = take(columns, ~sick | (draws.random(9000) < 0.12))
    write_table(folder / "fresh.csv", draw_hearts(2000, 69, sharpness=1.2))
    settings = table(folder, "hearts", rare, "disease")
    if fault:
        rows = np.arange(len(rare["age"]))
        ill = rows[rare["disease"] == "yes"]
        write_table(folder / "hearts.csv", take(rare, draws.permutation(np.concatenate([rows, *[ill] * 7]))))
    return {
        **settings,
        "model.kind": "tabular",
        "model.hidden": [128, 128],
        "objective.kind": "binary",
        "objective.balanced": not fault,
        "checkpoints.monitor": "val/loss",
        "loop.epochs": 80,
        "loop.batch_size": 64,
        **adam(4e-4),
        **STOPS,
    }


def herd(folder: Path, fault: bool) -> Settings:
    """Lameness of cows by their steps, eight days of each cow, who walks as she always walks."""
    draws = np.random.default_rng(70)

    def days(cows: int, first: int) -> Columns:
        lame = draws.random(cows) < 0.5
        cow = np.repeat(np.arange(cows), 8)
        values = draws.normal(0, 1.0, (cows, 6))[cow] + 1.7 * lame[cow, None] * np.array([1, -1, 0.7, 0, 0, 0])
        values = values + draws.normal(0, 0.12, (len(cow), 6))
        columns: Columns = {"cow": [f"cow-{first + each:03}" for each in cow]}
        columns |= dict(zip(("stride", "pace", "sway", "head", "rest", "turns"), values.T, strict=True))
        return columns | {"lame": np.where(lame[cow], "yes", "no")}

    columns = days(520, 0)
    write_table(folder / "herd.csv", take(columns, draws.permutation(len(columns["lame"]))))
    write_table(folder / "fresh.csv", days(150, 500))
    return {
        "dataset.kind": "table",
        "dataset.path": "herd.csv",
        "dataset.targets": ["lame"],
        **({"dataset.ignored": ["cow"]} if fault else {"dataset.group_column": "cow"}),
        "model.kind": "tabular",
        "model.hidden": [96, 96],
        "objective.kind": "binary",
        "checkpoints.monitor": "val/loss",
        "loop.epochs": 60,
        "loop.batch_size": 64,
        **adam(2e-4),
        **STOPS,
    }


def swimmers(folder: Path, fault: bool) -> Settings:
    """How many people are in a pool at an hour; what is in fashion comes and goes with the days."""
    draws = np.random.default_rng(71)

    def season(first: int, days: int) -> Columns:
        day, hour = np.repeat(np.arange(first, first + days), 12), np.tile(np.arange(8, 20), days)
        warm, clouds, wind = draws.normal(0, 1, (3, len(day)))
        count = 180 + 50 * np.sin((hour - 9) / 11 * np.pi) + 38 * warm - 22 * clouds * (warm > -0.5)
        count = count + 32 * np.sin(2 * np.pi * day / 90) + draws.normal(0, 9, len(day))
        columns: Columns = {"day": day, "hour": hour, "temperature": 22 + 4 * warm, "cloud_cover": 50 + 18 * clouds}
        return columns | {"wind": 12 + 3 * wind, "swimmers": np.round(count)}

    columns = season(1, 450)
    write_table(folder / "pool.csv", take(columns, draws.permutation(len(columns["hour"]))))
    write_table(folder / "fresh.csv", season(451, 180))
    return {
        "dataset.kind": "table",
        "dataset.path": "pool.csv",
        "dataset.targets": ["swimmers"],
        "dataset.task": "values",
        **({} if fault else {"dataset.time_column": "day"}),
        "model.kind": "tabular",
        "model.hidden": [48, 48],
        "objective.kind": "regression",
        "loop.epochs": 30,
        "loop.batch_size": 64,
        **adam(3e-3),
    }


def looks_at_itself(folder: Path, fault: bool) -> Settings:
    """The folder to validate on is a copy of that which is trained on."""
    known = draw_leaves(110, 24, 5, 80)
    write_folders(folder / "leaves", known)
    write_folders(folder / "validation", known if fault else draw_leaves(150, 24, 5, 81))
    write_folders(folder / "fresh", draw_leaves(150, 24, 5, 82))
    return {
        "dataset.kind": "image_folder",
        "dataset.path": "leaves",
        "dataset.validation_path": "validation",
        **CNN,
        "loop.epochs": 10,
    }


def surety(trial: Trial) -> float:
    """How sure the accuracy is: minus its standard error, at nine of ten right."""
    assert trial.run is not None
    for line in (trial.run / "events.jsonl").read_text().splitlines():
        event = json.loads(line)
        if event["kind"] == "data_prepared":
            return -math.sqrt(0.09 / sum(event["report"]["counts"]["validation"]))
    return math.nan


CASES = (
    Case(
        "diagnoses_by_guess",
        "labels",
        "The diagnoses were typed in by three students in a hurry. I never get beyond 70 %.",
        "three in ten diagnoses are wrong, at random",
        guessed_hearts,
        ("noisy labels",),
        (Fix("look through the labels", names=("disease", "label", "noisy", "noise")),),
        Harm("accuracy", 0.15),
    ),
    Case(
        "a_hand_in_the_wrong_drawer",
        "labels",
        "Letters, sorted by hand. Strangely, two of eight are mixed up all the time.",
        "more than half of the v lie in the folder of y, and of the h in that of n",
        renamed_letters,
        ("wrong labels", "noisy labels"),
        (Fix("sort the folders again", names=("v", "y", "h", "n", "label", "mislabel")),),
        Harm("accuracy", 0.08, "fresh"),
    ),
    Case(
        "answers_of_the_sample_before",
        "labels",
        "Angles and positions come from two loggers. The network finds no relation at all, though geometry says there is one.",
        "targets are shifted by one against the inputs",
        rolled_arm,
        ("shifted labels", "wrong labels"),
        (Fix("shift the targets back", names=("y", "target", "shift", "align", "label")),),
        Harm("r2", 0.5),
    ),
    Case(
        "vibrations_numbered_from_one",
        "labels",
        "My kinds are numbered from 1 to 4.",
        "classes from 1 to 4 in a Dataset whose network has a logit for each of 0 to 3",
        either(
            partial(vibrations, seed=60, source=COUNTED, network=NETWORK_OF_FOUR),
            partial(vibrations, seed=60, network=NETWORK_OF_FOUR),
        ),
        ("labels out of range",),
        (Fix("count classes from 0", names=("vibrations.py", "__getitem__", "label", "class", "kinds")),),
        Harm("accuracy", 0.1, "refused"),
    ),
    Case(
        "sick_copied_before_the_split",
        "splits",
        "The sick are rare, so I copied each seven times before training. AUROC is 0.94, but not in the clinic.",
        "copies of the same person are trained on and validated on",
        oversampled,
        ("duplicates across parts",),
        (
            Fix("no copies in validation", {"dataset.duplicates": one_of("drop_from_validation")}),
            Fix("copy after the split, or weigh", names=("duplicate", "copies", "oversampl")),
        ),
        Harm("auroc", 0.05, "claim"),
    ),
    Case(
        "every_cow_in_both_parts",
        "splits",
        "Lame or not, by the gait of cows: 93 % right. On the next farm it is far less.",
        "days of one cow are trained on and validated on, and the network knows the cow",
        herd,
        ("groups across parts",),
        (Fix("keep the days of a cow together", {"dataset.group_column": one_of("cow")}),),
        Harm("accuracy", 0.06, "claim"),
    ),
    Case(
        "tomorrow_between_yesterdays",
        "splits",
        "Swimmers by day, hour and weather. R2 is 0.79, and in the weeks since then it has been below 0.5.",
        "days before and after those that are validated on are trained on, and the network knows the day",
        swimmers,
        ("time across parts",),
        (
            Fix("validate on the newest days", {"dataset.time_column": one_of("day")}),
            Fix("no number of the day", {"dataset.ignored": has("day")}),
            Fix("no number of the day", {"dataset.features": lacks("day")}),
        ),
        Harm("r2", 0.12, "claim"),
    ),
    Case(
        "seven_stones_to_validate",
        "validation",
        "I need all stones to train on. Validation accuracy is 86 %, then 100 %, then 100 %.",
        "seven rows to validate on",
        by_settings(
            changed(partial(minerals, count=2800, seed=86), {"loop.epochs": 20, "dataset.validation_fraction": 0.25}),
            {"dataset.validation_fraction": 0.0025},
        ),
        ("validation too small",),
        (Fix("hold out more", {"dataset.validation_fraction": between(0.08, 0.5)}),),
        Harm("accuracy", 0.06, surety, "minus the standard error of the accuracy"),
    ),
    Case(
        "validated_on_what_it_knows",
        "validation",
        "I had to name a validation folder, so I copied my images into one.",
        "the validation folder is a copy of the one that is trained on",
        looks_at_itself,
        ("no validation", "duplicates across parts"),
        (
            Fix("hold images out", {"dataset.validation": one_of("split")}),
            Fix("hold images out", {"dataset.validation_path": one_of(None, "")}),
            Fix("other images to validate on", names=("validation", "duplicate", "copies")),
        ),
        Harm("accuracy", 0.03, "claim"),
    ),
)
