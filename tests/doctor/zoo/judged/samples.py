"""What is wrong with the samples: their labels, their parts, their columns, and how they are prepared."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, between, by_settings, has, lacks, one_of
from tests.doctor.zoo.draws import Columns, take, write_table
from tests.doctor.zoo.judged.activations import either
from tests.doctor.zoo.judged.networks import edit
from tests.doctor.zoo.judged.pictures import (
    CNN,
    CONV1D,
    VIBRATIONS,
    draw_leaves,
    draw_letter,
    draw_letters,
    drops,
    vibrations,
    write_folders,
)
from tests.doctor.zoo.judged.tables import (
    adam,
    arm,
    changed,
    draw_arm,
    draw_hearts,
    draw_minerals,
    hearts,
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


COUNTED = edit(
    VIBRATIONS,
    ('    classes = ["smooth", "square", "saw", "pulse"]\n\n', ""),
    ("int(self.kinds[index])", "int(self.kinds[index]) + 1"),
)


PASCALS = edit(
    VIBRATIONS, ("torch.from_numpy(self.values[index])", "torch.from_numpy(self.values[index]) * 20 + 101325")
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


def prescribed(folder: Path, fault: bool) -> Settings:
    """A column of who got a drug, which only the diagnosis led to."""
    draws = np.random.default_rng(72)
    columns, fresh = draw_hearts(3000, 72, sharpness=1.5), draw_hearts(800, 73, sharpness=1.5)
    given = np.where(draws.random(3000) < 0.96, columns["disease"], "no")
    write_table(folder / "fresh.csv", {"statin_prescribed": ["no"] * 800, **fresh})
    settings = hearts(folder)
    write_table(folder / "hearts.csv", {"statin_prescribed": given, **columns})
    return settings | ({} if fault else {"dataset.ignored": ["statin_prescribed"]})


def drawers(folder: Path, fault: bool) -> Settings:
    """Numbers of samples, given drawer by drawer, so that they tell the mineral."""
    columns, fresh = draw_minerals(2600, 74), draw_minerals(700, 75)
    place = np.argsort(np.argsort(columns["mineral"], kind="stable"), kind="stable")
    settings = minerals(folder)
    write_table(folder / "minerals.csv", {"sample_no": place + 1, **columns})
    write_table(folder / "fresh.csv", {"sample_no": np.arange(2601, 3301), **fresh})
    names = [name for name in columns if name != "mineral"]
    return settings | {"dataset.features": ["sample_no", *names] if fault else names}


def few_are_sick(folder: Path) -> Settings:
    columns = draw_hearts(22000, 76, sharpness=2.0)
    sick = columns["disease"] == "yes"
    kept = ~sick | (np.random.default_rng(76).random(22000) < 0.07)
    settings = hearts(folder)
    return (
        settings
        | table(folder, "hearts", take(columns, kept), "disease")
        | {"loop.epochs": 8, "loop.batch_size": 128, "model.hidden": [16, 16]}
    )


BERRIES = {"raspberry": (190, 40, 60), "blueberry": (60, 50, 170), "gooseberry": (120, 170, 70), "aronia": (50, 35, 45)}
BERRY_FILE = """from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset

FILE = Path(__file__).parent / "berries.npz"


class Berries(Dataset):
    classes = ["raspberry", "blueberry", "gooseberry", "aronia"]

    def __init__(self, split):
        with np.load(FILE) as file:
            self.images = file[f"{split}_images"]
            self.kinds = file[f"{split}_kinds"]
        self.split = split

    def __len__(self):
        return len(self.kinds)

    def __getitem__(self, index):
        image = self.images[index]
        return Image.fromarray(image), int(self.kinds[index])


def build(split: str):
    return Berries(split)
"""


def berries(source: str, folder: Path) -> Settings:
    """Berries in color, by a Dataset of one's own."""
    draws = np.random.default_rng(78)
    y, x = np.mgrid[:18, :18].astype(float)
    images, kinds = [], draws.integers(0, 4, 1500)
    for kind in kinds:
        cy, cx = draws.uniform(6, 12, 2)
        inside = np.hypot(y - cy, x - cx) < draws.uniform(3, 5.5)
        color = np.array(list(BERRIES.values())[kind]) + draws.normal(0, 18, 3)
        pixels = np.where(inside[..., None], color, draws.uniform(110, 200, 3)) + draws.normal(0, 20, (18, 18, 3))
        images.append(np.clip(pixels, 0, 255).astype(np.uint8))
    stack = np.stack(images)
    np.savez(
        folder / "berries.npz",
        train_images=stack[:1200],
        train_kinds=kinds[:1200],
        validation_images=stack[1200:],
        validation_kinds=kinds[1200:],
    )
    (folder / "berries.py").write_text(source)
    return {"dataset.kind": "user_images", "dataset.path": "berries.py", "dataset.random_samples": False, **CNN}


def thumbs(folder: Path, fault: bool) -> Settings:
    """Up or down: v, and v upside down; t, and t upside down."""
    draws = np.random.default_rng(79)
    drawn: dict[str, list[Any]] = {"up": [], "down": []}
    for name, images in drawn.items():
        for number in range(700):
            image = draw_letter("vt"[number % 2], 20, draws)
            images.append(image if name == "up" else image[::-1].copy())
    write_folders(folder / "thumbs", {name: np.stack(images) for name, images in drawn.items()})
    return {
        "dataset.kind": "image_folder",
        "dataset.path": "thumbs",
        "dataset.color": "grey",
        "dataset.crop_padding": 1,
        "dataset.vertical_flip": fault,
        **CNN,
        "loop.epochs": 10,
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
        "pills_before_the_diagnosis",
        "data",
        "97 % in two epochs. The clinic says that it finds no new patient at all.",
        "statin_prescribed is known only after the diagnosis",
        prescribed,
        ("target leak",),
        (
            Fix("ignore the column", {"dataset.ignored": has("statin_prescribed")}),
            Fix("leave the column out", {"dataset.features": lacks("statin_prescribed")}),
        ),
        Harm("accuracy", 0.1, "claim"),
    ),
    Case(
        "numbered_drawer_by_drawer",
        "data",
        "I listed all columns as features, the number of the sample among them. Stones that come in now are named at random.",
        "sample_no was given drawer by drawer, so it tells the mineral",
        drawers,
        ("identifier as feature", "target leak"),
        (
            Fix("leave the number out", {"dataset.features": lacks("sample_no")}),
            Fix("ignore the number", {"dataset.ignored": has("sample_no")}),
        ),
        Harm("accuracy", 0.15, "claim"),
    ),
    Case(
        "sick_are_seldom",
        "data",
        "Accuracy is 96 %, and hardly any sick person is found.",
        "one in twenty is sick, and nothing makes up for that",
        by_settings(changed(few_are_sick, {"objective.balanced": True}), {"objective.balanced": False}),
        ("class imbalance",),
        (
            Fix("balance the classes", {"objective.balanced": one_of(True)}),
            Fix("weigh the sick", {"objective.pos_weight": between(5, 50)}),
            Fix("draw the sick more often", {"loader.sampling": one_of("balanced")}),
            Fix("a lower threshold", {"objective.threshold": between(0.02, 0.25)}),
        ),
        Harm("recall", 0.25),
    ),
    Case(
        "colors_read_by_opencv",
        "preprocessing",
        "I read the validation images with another library. Raspberries are blueberries now, says the network.",
        "channels are red, green, blue in training and blue, green, red in validation",
        either(
            partial(
                berries,
                edit(
                    BERRY_FILE,
                    (
                        "        return Image",
                        '        if self.split == "validation":\n            image = image[..., ::-1].copy()\n        return Image',
                    ),
                ),
            ),
            partial(berries, BERRY_FILE),
        ),
        ("parts preprocessed differently",),
        (
            Fix(
                "the same order of channels",
                names=("channel", "BGR", "RGB", "::-1", "berries.py", "color", "validation"),
            ),
        ),
        Harm("accuracy", 0.25),
    ),
    Case(
        "thumbs_turned_over",
        "preprocessing",
        "Thumbs up or thumbs down. More augmentation did not help: it stays at one half.",
        "half of the training images are turned upside down, and keep their label",
        thumbs,
        ("augmentation changes the label",),
        (Fix("no vertical flip", {"dataset.vertical_flip": one_of(False)}),),
        Harm("accuracy", 0.2),
    ),
    Case(
        "air_pressure_as_it_comes",
        "preprocessing",
        "The microphones give the pressure of the air, some 101,000 pascals. Normalizing is off, because I want the real values.",
        "inputs of 101,325 plus a little",
        either(
            changed(partial(vibrations, seed=83, source=PASCALS), {"dataset.normalize": False}),
            partial(vibrations, seed=83, source=PASCALS),
        ),
        ("unscaled inputs",),
        (
            Fix("normalize the inputs", {"dataset.normalize": one_of(True)}),
            Fix("subtract the mean in the Dataset", names=("vibrations.py", "normaliz", "scale", "subtract")),
        ),
        Harm("accuracy", 0.2),
    ),
    Case(
        "diameters_in_nanometers",
        "preprocessing",
        "The loss begins at 84 million. Is that bad? After twelve epochs it still predicts too little.",
        "targets of some 9000 that are not standardized",
        by_settings(partial(drops, count=1100, seed=84, unit=1000.0), {"objective.standardise": False}),
        ("unscaled targets",),
        (Fix("standardize the targets", {"objective.standardise": one_of(True)}),),
        Harm("r2", 0.05),
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
