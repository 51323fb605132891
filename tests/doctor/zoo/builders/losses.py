"""Losses: own ones with a slip, and settings of ours that ask for something else than was meant."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.doctor.zoo.builders.bases import Base, changed, figures, pumps, wines, yields
from tests.doctor.zoo.case import Case, Fix, Harm, Settings, by_settings, one_of

LOSS = """from torch.nn import functional


def loss(outputs, targets):
    return {formula}


def build():
    return loss
"""


def by_loss(base: Base, task: str, faulty: str, sound: str) -> Callable[[Path, bool], Settings]:
    """A fault in the person's own loss: its formula with the fault, and without it."""

    def write(folder: Path, fault: bool) -> Settings:
        (folder / "loss.py").write_text(LOSS.replace("{formula}", faulty if fault else sound))
        kept = {name: value for name, value in base(folder).items() if not name.startswith("objective.")}
        return kept | {"objective.kind": "user_loss", "objective.path": "loss.py", "objective.task": task}

    return write


def with_outliers(folder: Path, faulty: bool) -> Settings:
    """Some prices were typed without their decimal point."""
    settings = wines(folder, 900)
    lines = (folder / "wines.csv").read_text().splitlines()
    rows = [line.split(",") for line in lines[1:]]
    (folder / "fresh.csv").write_text("\n".join([lines[0], *(",".join(row) for row in rows[:300])]) + "\n")
    rows = rows[300:]
    if faulty:
        for place in np.random.default_rng(3).choice(len(rows), 18, replace=False):
            rows[place][-1] = f"{float(rows[place][-1]) * 1000:.4f}"
    (folder / "wines.csv").write_text("\n".join([lines[0], *(",".join(row) for row in rows)]) + "\n")
    return settings


CASES = (
    Case(
        "pumps_wrong_sign",
        "loss",
        "My loss is the log-likelihood.",
        "The sign is wrong: what is minimized is to be maximized.",
        by_loss(
            pumps,
            "classification",
            "-functional.cross_entropy(outputs, targets)",
            "functional.cross_entropy(outputs, targets)",
        ),
        ("sign of the loss",),
        (Fix("Turn the sign.", names=("sign", "negative", "loss.py")),),
        Harm("accuracy", 0.3),
    ),
    Case(
        "figures_sum",
        "loss",
        "Cross-entropy summed over the batch.",
        "The sum in place of the mean: with SGD the rate is as many times too high as there are samples.",
        by_loss(
            changed(figures, {"optimizer.kind": "sgd", "optimizer.lr": 0.05, "loop.clip_norm": 1000.0}),
            "classification",
            'functional.cross_entropy(outputs, targets, reduction="sum")',
            "functional.cross_entropy(outputs, targets)",
        ),
        ("reduction of the loss",),
        (
            Fix("The mean.", {"optimizer.lr": lambda value: value <= 0.005}),
            Fix("The mean.", names=("sum", "mean", "loss.py")),
        ),
        Harm("accuracy", 0.2),
    ),
    Case(
        "wines_sum",
        "loss",
        "Squared errors, summed.",
        "The sum in place of the mean: the steps are far too large.",
        by_loss(
            changed(wines, {"optimizer.kind": "sgd", "optimizer.lr": 2e-4, "loop.clip_norm": 1e6}),
            "regression",
            '32 * functional.mse_loss(outputs, targets, reduction="sum")',
            "functional.mse_loss(outputs, targets)",
        ),
        ("reduction of the loss",),
        (
            Fix("The mean.", {"optimizer.lr": lambda value: value <= 2e-5}),
            Fix("The mean.", names=("sum", "mean", "loss.py")),
        ),
        Harm("r2", 0.1),
    ),
    Case(
        "pumps_loss_shifted",
        "loss",
        "A loss from a language that counts from 1.",
        "The loss asks for the class after the right one.",
        by_loss(
            pumps,
            "classification",
            "functional.cross_entropy(outputs, (targets + 1) % outputs.shape[1])",
            "functional.cross_entropy(outputs, targets)",
        ),
        ("wrong loss", "shifted labels"),
        (Fix("Count from 0.", names=("loss.py", "targets")),),
        Harm("accuracy", 0.3),
    ),
    Case(
        "pumps_to_nothing",
        "loss",
        "Distances to what is right, added up.",
        "The distance is to zeros: what is right is multiplied away.",
        by_loss(
            changed(pumps, {"optimizer.lr": 1e-3}),
            "classification",
            "functional.l1_loss(outputs, functional.one_hot(targets, outputs.shape[1]).float() * 0)",
            "functional.cross_entropy(outputs, targets)",
        ),
        ("wrong loss",),
        (
            Fix("Cross-entropy.", names=("loss.py", "cross", "targets")),
            Fix("Cross-entropy.", {"objective.kind": one_of("classification")}),
        ),
        Harm("accuracy", 0.2),
    ),
    Case(
        "pumps_class_weights",
        "loss",
        "One class matters most to me.",
        "Weights of 1000 to 1 make the network answer that class alone.",
        by_settings(pumps, {"objective.kind": "classification", "objective.class_weights": [3000.0, 1.0, 1.0]}),
        ("class weights",),
        (
            Fix(
                "No weights.",
                {"objective.class_weights": lambda value: len(value) == 0 or max(value) <= 20 * min(value)},
            ),
        ),
        Harm("accuracy", 0.1),
    ),
    Case(
        "yields_pos_weight",
        "loss",
        "I would rather have a false alarm.",
        "pos_weight of 300: nearly all is called good.",
        by_settings(yields, {"objective.pos_weight": 300.0}),
        ("class weights",),
        (Fix("No such weight.", {"objective.pos_weight": lambda value: value is None or value <= 10}),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "wines_outliers",
        "loss",
        "Some prices were typed without their decimal point.",
        "Eighteen prices are a thousand times too large, and squared error sees nothing else.",
        with_outliers,
        ("outliers",),
        (
            Fix("A loss that outliers pull less.", {"objective.loss": one_of("l1", "huber")}),
            Fix("Mend the rows.", names=("price", "outlier")),
        ),
        Harm("mae", 1.0, by="fresh"),
    ),
)
