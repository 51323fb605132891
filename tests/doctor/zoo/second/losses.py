"""Losses that ask for something else than their people want."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, between, by_settings, one_of
from tests.doctor.zoo.draws import take, write_table
from tests.doctor.zoo.second import data, samples

DICE = '''"""Overlap of the road."""

import torch


def dice(outputs, masks):
    road = outputs.softmax(1)[:, 1]
    true = (masks == 1).float()
    overlap = (road * true).sum((1, 2))
    return SIGN (2 * overlap + 1) / (road.sum((1, 2)) + true.sum((1, 2)) + 1)


def build():
    return dice
'''

LIKELIHOOD = '''"""The negative log-likelihood of the right class."""

import torch
import torch.nn.functional as F


def likelihood(outputs, targets):
    return F.nll_loss(ANSWERS, targets)


def build():
    return likelihood
'''

PIXELS = '''"""Cross-entropy of the pixels."""

import torch.nn.functional as F


def pixels(outputs, masks):
    return F.cross_entropy(outputs, masks, reduction="REDUCTION")


def build():
    return pixels
'''

QUANTILE = '''"""Pinball loss."""

import torch


def build(quantile: float = 0.5):
    def pinball(outputs, targets):
        error = targets - outputs
        return torch.maximum(quantile * error, (quantile - 1) * error).mean()

    return pinball
'''


def own_loss(base: Callable[[Path], Settings], task: str, faulty: str, sound: str) -> Callable[[Path, bool], Settings]:
    """A fault in the person's own loss."""

    def write(folder: Path, fault: bool) -> Settings:
        (folder / "loss.py").write_text(faulty if fault else sound)
        kept = {name: value for name, value in base(folder).items() if not name.startswith("objective.")}
        return kept | {"objective.kind": "user_loss", "objective.path": "loss.py", "objective.task": task}

    return write


def quantile(folder: Path) -> Settings:
    (folder / "loss.py").write_text(QUANTILE)
    kept = {name: value for name, value in data.bikes(folder).items() if not name.startswith("objective.")}
    table = samples.draw_bikes(2500)
    hundreds = np.asarray(table.pop("rented"), float) / 100
    write_table(folder / "bikes.csv", {**table, "hundreds": hundreds})
    return kept | {
        "dataset.targets": ["hundreds"],
        "objective.kind": "user_loss",
        "objective.path": "loss.py",
        "objective.task": "regression",
        "objective.arguments.quantile": 0.5,
    }


def missing_as_number(folder: Path, faulty: bool) -> Settings:
    """The counter wrote -999 where it was out of order."""
    settings = data.bikes(folder)
    table = samples.draw_bikes(2600)
    write_table(folder / "fresh.csv", take(table, np.arange(2500, 2600)))
    rented = np.asarray(table["rented"], float).copy()
    broken = np.random.default_rng(5).random(2600) < 0.06
    rented[broken] = -999.0
    rows = np.arange(2500)
    whole = take({**table, "rented": rented}, rows if faulty else rows[~broken[:2500]])
    write_table(folder / "bikes.csv", whole)
    return settings


CASES = (
    Case(
        "roads_shrink",
        "loss",
        "I train on Dice myself, and the marked road gets smaller and smaller.",
        "Dice itself is minimized",
        own_loss(data.roads, "segmentation", DICE.replace("SIGN ", ""), DICE.replace("SIGN", "1 -")),
        ("sign of the loss",),
        (Fix("one minus Dice", names=("loss.py", "dice")),),
        Harm("mean_iou", 0.3),
    ),
    Case(
        "likelihood_of_bare_logits",
        "loss",
        "NLLLoss is for classification, says the documentation. The loss falls without end.",
        "NLL loss without log-softmax",
        own_loss(
            data.blobs,
            "classification",
            LIKELIHOOD.replace("ANSWERS", "outputs"),
            LIKELIHOOD.replace("ANSWERS", "outputs.log_softmax(1)"),
        ),
        ("wrong loss",),
        (
            Fix("log-softmax before it", names=("loss.py", "nll_loss", "likelihood", "log_softmax")),
            Fix("cross-entropy", {"objective.kind": one_of("classification")}),
        ),
        Harm("accuracy", 0.05),
    ),
    Case(
        "summed_over_all_pixels",
        "loss",
        "With SGD my segmentation does not get going, at rates that work for others.",
        "a sum over pixels as loss, with SGD and without clipping",
        own_loss(
            lambda folder: (
                data.roads(folder)
                | {"optimizer.kind": "sgd", "optimizer.lr": 0.1, "loop.clip_norm": 0.0, "model.norm": "none"}
            ),
            "segmentation",
            PIXELS.replace("REDUCTION", "sum"),
            PIXELS.replace("REDUCTION", "mean"),
        ),
        ("reduction of the loss", "learning rate too high"),
        (
            Fix("the mean", names=("loss.py", "reduction", "pixels")),
            Fix("cross-entropy", {"objective.kind": one_of("segmentation")}),
            Fix("clipping", {"loop.clip_norm": between(0.3, 5.0)}),
            Fix(
                "Adam",
                {"optimizer.kind": one_of("adam", "adamw", "nadam", "radam"), "optimizer.lr": between(1e-3, 1e-2)},
            ),
            Fix("a far lower rate", {"optimizer.lr": between(5e-6, 2.5e-5)}),
        ),
        Harm("mean_iou", 0.2),
    ),
    Case(
        "high_quantile_of_bikes",
        "loss",
        "I took over a loss from a project on stocks in a warehouse. I want to know how many bicycles to expect.",
        "a pinball loss for the quantile 0.95, in place of the middle",
        by_settings(quantile, {"objective.arguments.quantile": 0.95}),
        ("wrong loss",),
        (
            Fix(
                "the middle",
                {"objective.arguments": lambda given: 0.4 <= dict(given or {}).get("quantile", 0.5) <= 0.6},
                names=("quantile", "loss.py"),
            ),
            Fix("a loss of the program", {"objective.kind": one_of("regression")}),
        ),
        Harm("r2", 0.04),
    ),
    Case(
        "loans_all_refused",
        "loss",
        "Defaults are what I fear, so each counts forty times.",
        "a positive weight of 40 for classes of like size",
        by_settings(data.loans, {"objective.pos_weight": 40.0}),
        ("class weights",),
        (
            Fix("no weight", {"objective.pos_weight": lambda value: value is None}),
            Fix("a smaller weight", {"objective.pos_weight": between(0.3, 3.0)}),
        ),
        Harm("accuracy", 0.1),
    ),
    Case(
        "one_letter_counts_nothing",
        "loss",
        "The weights come from a list that began with the background, which is to count nothing.",
        "a class weight of 0 for the first of six letters",
        by_settings(data.glyphs, {"objective.class_weights": [0.0, 1.0, 1.0, 1.0, 1.0, 1.0]}),
        ("class weights",),
        (
            Fix("no weights", {"objective.class_weights": lambda value: not value}),
            Fix("a weight for each", {"objective.class_weights": lambda value: bool(value) and min(value) >= 0.2}),
        ),
        Harm("accuracy", 0.1),
    ),
    Case(
        "counter_out_of_order",
        "loss",
        "Predictions are off by hundreds of bicycles, though most hours are regular.",
        "-999 stands for a missing number in the target, under a squared error",
        missing_as_number,
        ("outliers", "wrong labels"),
        (
            Fix("absolute errors", {"objective.loss": one_of("l1")}),
            Fix(
                "small errors alone are squared",
                {"objective.loss": one_of("huber"), "objective.delta": between(0.005, 0.1)},
            ),
            Fix("leave those rows out", names=("rented", "bikes.csv")),
        ),
        Harm("mae", 15.0, "fresh"),
    ),
)
