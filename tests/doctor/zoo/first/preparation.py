"""Preparation and restraint by settings: augmentation, sizes and scales that do not suit the data, and too much regularization."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, between, by_settings, one_of
from tests.doctor.zoo.draws import ADAM, flowers, houses, shapes


def arrows(folder: Path) -> Settings:
    """Arrows that point left or right."""
    draws = np.random.default_rng(0)
    for kind in ("left", "right"):
        (folder / "arrows" / kind).mkdir(parents=True)
        for number in range(200):
            y, x = np.mgrid[:20, :20]
            cy, cx, size = draws.uniform(8, 12), draws.uniform(7, 13), draws.uniform(5, 7)
            sign = 1 if kind == "right" else -1
            along, across = sign * (x - cx) + size / 2, abs(y - cy)
            head = (along > 0) & (along < size) & (across < (size - along) * 0.9)
            shaft = (along <= 0) & (along > -size / 2) & (across < 1.5)
            pixels = draws.normal(70, 25, (20, 20)) + 120 * (head | shaft)
            Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(
                folder / "arrows" / kind / f"{number:03}.png"
            )
    return shapes_settings("arrows") | {"loop.epochs": 10}


def shapes_settings(path: str) -> Settings:
    return {
        "dataset.kind": "image_folder",
        "dataset.path": path,
        "model.kind": "small_cnn",
        "model.channels": [16, 32],
        "model.hidden": 64,
        "loop.epochs": 8,
        "loop.batch_size": 32,
        **ADAM,
    }


def weaves(folder: Path) -> Settings:
    """Fabric of 32 x 32 pixels whose threads run one way or the other, two pixels wide."""
    draws = np.random.default_rng(0)
    for kind in ("twill", "satin", "linen"):
        (folder / "fabric" / kind).mkdir(parents=True)
        for number in range(120):
            y, x = np.mgrid[:32, :32] + draws.integers(0, 8)
            thread = {"twill": (x + y) // 2 % 2, "satin": (x - y) // 2 % 2, "linen": (x // 2 + y // 2) % 2}[kind]
            pixels = draws.normal(100, 30, (32, 32)) + draws.uniform(40, 70) * thread
            Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(
                folder / "fabric" / kind / f"{number:03}.png"
            )
    return shapes_settings("fabric") | {"loop.epochs": 6}


IMAGES = (
    Case(
        "mirrored_arrows",
        "preprocessing",
        "Left or right arrow, the easiest task there is, and it gets 50 %. I even have augmentation on.",
        "horizontal flips turn an arrow to the left into one to the right",
        by_settings(arrows, {"dataset.flip": True}),
        ("augmentation changes the label",),
        (Fix("no horizontal flip", {"dataset.flip": one_of(False)}),),
        Harm("accuracy", 0.2),
    ),
    Case(
        "fabric_at_eight_pixels",
        "preprocessing",
        "To be quick I resize to 8 x 8. It cannot tell twill from satin any more.",
        "the threads are narrower than a pixel of the resized image",
        by_settings(weaves, {"dataset.image_size": 8}),
        ("images too small",),
        (Fix("a larger size", {"dataset.image_size": lambda value: value is None or value >= 24}),),
        Harm("accuracy", 0.15),
    ),
)

REGULARIZATION = (
    Case(
        "dropout_of_nine_tenths",
        "regularization",
        "Overfitting is the enemy, so I set dropout to 0.9. Training loss is higher than validation loss and both are bad.",
        "dropout of 0.9 in a network of 16 units",
        by_settings(
            lambda folder: flowers(folder, kinds=8) | {"model.hidden": [16, 16]},
            {"model.dropout": 0.9},
        ),
        ("regularization too strong",),
        (Fix("less dropout", {"model.dropout": between(0.0, 0.5)}),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "decay_of_one",
        "regularization",
        "With more weight decay the weights get smaller, as they should. All houses now cost the average.",
        "a weight decay of 1 with Adam, which adds it to the gradient",
        by_settings(
            lambda folder: houses(folder) | {"optimizer.kind": "adam", "loop.epochs": 20},
            {"optimizer.weight_decay": 1.0},
        ),
        ("regularization too strong",),
        (
            Fix("less weight decay", {"optimizer.weight_decay": between(0.0, 0.02)}),
            Fix("decoupled decay", {"optimizer.kind": one_of("adamw")}),
        ),
        Harm("r2", 0.1),
    ),
    Case(
        "belt_and_braces",
        "regularization",
        "I switched on everything that is said to help: dropout, mixup, erasing, label smoothing, decay. It was better before.",
        "dropout 0.7, mixup 2, erasing 0.9, label smoothing 0.4 and a decay of 0.5, all at once in a small network and a short run",
        by_settings(
            lambda folder: shapes(folder, each=120),
            {
                "model.dropout": 0.7,
                "dataset.mixup_alpha": 2.0,
                "dataset.erasing": 0.9,
                "objective.label_smoothing": 0.4,
                "optimizer.weight_decay": 0.5,
            },
        ),
        ("redundant regularization", "regularization too strong"),
        (
            Fix(
                "without mixup and erasing",
                {"dataset.mixup_alpha": between(0, 0.4), "dataset.erasing": between(0, 0.3)},
            ),
            Fix(
                "without dropout and mixup", {"model.dropout": between(0, 0.3), "dataset.mixup_alpha": between(0, 0.4)}
            ),
            Fix("without dropout and erasing", {"model.dropout": between(0, 0.3), "dataset.erasing": between(0, 0.3)}),
        ),
        Harm("accuracy", 0.05),
    ),
    Case(
        "prices_as_they_are",
        "preprocessing",
        "I want to see dollars, so I switched off the standardization of the target. MSE is 10^11 and R2 is below zero.",
        "prices of some 400,000 as targets of a network that begins at 0",
        by_settings(houses, {"objective.standardise": False}),
        ("unscaled targets",),
        (Fix("standardize the targets", {"objective.standardise": one_of(True)}),),
        Harm("r2", 0.3),
    ),
)

CASES = (*IMAGES, *REGULARIZATION)
