"""What is made small."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, one_of
from tests.doctor.zoo.draws import write_table
from tests.doctor.zoo.edit import edit
from tests.doctor.zoo.third.pictures import cells
from tests.doctor.zoo.third.tables import Base, adam, articles, changed, concrete, draw_concrete, minerals

OVERLAP = """import torch
from torch.nn import functional as F


def build(classes: int):
    def dice_loss(scores, masks):
        shares = scores.softmax(1)
        wanted = F.one_hot(masks, classes).movedim(-1, 1).float()
        both = (shares * wanted).sum((0, 2, 3))
        dice = (2 * both + 1) / (shares.sum((0, 2, 3)) + wanted.sum((0, 2, 3)) + 1)
        return 1 - dice.mean()

    return dice_loss
"""

MARGIN = """from torch.nn import functional as F


def build():
    def tag_loss(outputs, tags):
        return F.soft_margin_loss(outputs, 2 * tags.float() - 1)

    return tag_loss
"""

PER_CENT = """import torch


def build():
    def relative_error(outputs, rain):
        return (outputs - rain).abs().mean()

    return relative_error
"""

FOCAL = """import torch
from torch.nn import functional as F


def build(gamma: float = 1.0):
    def focal(outputs, labels):
        each = F.cross_entropy(outputs, labels, reduction="none")
        return ((1 - torch.exp(-each)) ** gamma * each).mean()

    return focal
"""


def by_loss(base: Base, task: str, faulty: str, sound: str) -> Any:
    """A fault in the person's own loss."""

    def write(folder: Path, fault: bool) -> Settings:
        (folder / "loss.py").write_text(faulty if fault else sound)
        kept = {name: value for name, value in base(folder).items() if not name.startswith("objective.")}
        return kept | {"objective.kind": "user_loss", "objective.path": "loss.py", "objective.task": task}

    return write


def rain(folder: Path, count: int = 2400, seed: int = 0) -> Settings:
    """How much it rains, in mm; on most days hardly anything."""
    draws = np.random.default_rng([seed, 31])
    humidity, pressure = draws.uniform(30, 100, count), draws.normal(1013, 9, count)
    wind, front = draws.gamma(3, 4, count), draws.choice(["none", "warm", "cold"], count)
    level = 0.06 * (humidity - 70) - 0.09 * (pressure - 1013) + 0.9 * (front == "cold") + 0.4 * (front == "warm")
    amount = np.round(np.log1p(np.exp(1.6 * level - 1.0)) * 2.5 * np.exp(draws.normal(0, 0.4, count)), 1)
    columns = {"humidity": humidity, "pressure": pressure, "wind": wind, "front": front, "rain": amount}
    write_table(folder / "rain.csv", columns)
    return {
        "dataset.kind": "table",
        "dataset.path": "rain.csv",
        "dataset.targets": ["rain"],
        "dataset.task": "values",
        "model.kind": "tabular",
        "model.hidden": [48, 48],
        "loop.epochs": 25,
        "loop.batch_size": 64,
        **adam(3e-3),
    }


def pascals(folder: Path, fault: bool) -> Settings:
    """Some strengths in kPa among those in MPa."""
    columns = draw_concrete(2200, 53)
    write_table(folder / "fresh.csv", draw_concrete(600, 54))
    if fault:
        strange = np.random.default_rng(53).random(2200) < 0.012
        columns["strength"] = np.where(strange, columns["strength"] * 1000, columns["strength"])
    settings = concrete(folder)
    write_table(folder / "concrete.csv", columns)
    return settings | {"optimizer.lr": 2e-3}


CASES = (
    Case(
        "overlap_is_what_it_minimizes",
        "loss",
        "I wrote the Dice loss by the formula in the paper. The loss falls nicely, and the masks come out inside out.",
        "the overlap itself is returned, and made small",
        by_loss(
            partial(cells, count=120, seed=51),
            "segmentation",
            edit(OVERLAP, ("return 1 - dice.mean()", "return dice.mean()")),
            OVERLAP,
        ),
        ("sign of the loss",),
        (Fix("return one minus the overlap", names=("sign", "1 -", "negative", "minus", "maximize", "dice_loss")),),
        Harm("mean_iou", 0.5),
    ),
    Case(
        "margins_for_zero_and_one",
        "loss",
        "Soft margin loss for my tags. All articles get all tags.",
        "a loss for targets of 1 and -1 is given targets of 1 and 0, so nothing says no",
        by_loss(
            partial(articles, count=2500, seed=52),
            "multi_label",
            edit(MARGIN, ("2 * tags.float() - 1", "tags.float()")),
            MARGIN,
        ),
        ("wrong loss",),
        (Fix("targets of -1 and 1, or a binary cross-entropy", names=("soft_margin_loss", "margin", "-1")),),
        Harm("f1", 0.15),
    ),
    Case(
        "pascals_among_megapascals",
        "loss",
        "The strength of concrete, from two laboratories. The error is in the hundreds, though strengths are below 120.",
        "one in a hundred targets is a thousand times too large, and squared errors see only those",
        pascals,
        ("outliers",),
        (
            Fix("take the wrong values out", names=("strength", "outlier")),
            Fix("absolute errors", {"objective.loss": one_of("l1", "huber")}),
        ),
        Harm("mae", 5.0, "fresh"),
    ),
    Case(
        "per_cent_of_next_to_nothing",
        "loss",
        "I want the error in per cent, so I divide by the rain that fell. The forecast is always dry.",
        "relative errors of targets that are zero or nearly so",
        by_loss(
            partial(rain, seed=55),
            "regression",
            edit(PER_CENT, ("(outputs - rain).abs()", "((outputs - rain).abs() / (rain.abs() + 1e-3))")),
            PER_CENT,
        ),
        ("wrong loss",),
        (Fix("absolute or squared errors", names=("relative", "percent", "MAPE", "divi")),),
        Harm("r2", 0.1),
    ),
    Case(
        "averaged_once_too_often",
        "loss",
        "My focal loss, averaged over batch and classes as in a gist. SGD does next to nothing with it.",
        "the mean over the batch is divided by the batch and the classes again",
        by_loss(
            changed(
                partial(minerals, count=2300, seed=56),
                {"optimizer.kind": "sgd", "optimizer.lr": 0.05, "loop.clip_norm": 5.0},
            ),
            "classification",
            edit(FOCAL, ("* each).mean()", "* each).mean() / outputs.numel()")),
            FOCAL,
        ),
        ("reduction of the loss",),
        (Fix("one mean only", names=("reduction", "numel", "mean", "divi")),),
        Harm("accuracy", 0.15),
    ),
)
