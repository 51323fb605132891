"""What is wrong with the samples: their columns and classes, and what happens to them before the network sees them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, between, by_settings, has, lacks, one_of
from tests.doctor.zoo.draws import take, write_table
from tests.doctor.zoo.edit import edit
from tests.doctor.zoo.third.activations import either
from tests.doctor.zoo.third.pictures import (
    CNN,
    VIBRATIONS,
    draw_letter,
    drops,
    vibrations,
    write_folders,
)
from tests.doctor.zoo.third.tables import (
    changed,
    draw_hearts,
    draw_minerals,
    hearts,
    minerals,
    table,
)

PASCALS = edit(
    VIBRATIONS, ("torch.from_numpy(self.values[index])", "torch.from_numpy(self.values[index]) * 20 + 101325")
)


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


CASES = (
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
)
