"""How long a run is, and what its schedule makes of that."""

from __future__ import annotations

from typing import Any

from tests.doctor.zoo.case import Case, Fix, Harm, between, by_settings, one_of
from tests.doctor.zoo.second import data


def some_epochs(value: Any) -> bool:
    """Milestones each of which is written in epochs, or lies beyond three of them."""
    return isinstance(value, list | tuple) and all(
        each >= 150 if isinstance(each, int) else "epoch" in str(each) for each in value
    )


def short_warmup(value: Any) -> bool:
    """A warm-up of no more than a fifth of five hundred steps."""
    if isinstance(value, str):
        number = float(value.split()[0].rstrip("%"))
        return number <= (1 if "epoch" in value else 25)
    return isinstance(value, int) and value <= 150


CASES = (
    Case(
        "bikes_for_one_epoch",
        "epochs",
        "One epoch was the default of the script that I had before.",
        "one epoch of a small table",
        by_settings(data.bikes, {"loop.epochs": 1}),
        ("too few epochs",),
        (Fix("more epochs", {"loop.epochs": between(15, 500)}),),
        Harm("r2", 0.15),
    ),
    Case(
        "gauges_for_one_epoch",
        "epochs",
        "I tried whether all runs through, and then took that network.",
        "one epoch of images",
        by_settings(
            lambda folder: data.dials(folder, count=1000) | {"optimizer.lr": 1e-3, "loop.epochs": 20},
            {"loop.epochs": 1},
        ),
        ("too few epochs",),
        (Fix("more epochs", {"loop.epochs": between(4, 200)}),),
        Harm("rmse", 2.0),
    ),
    Case(
        "roads_for_one_epoch",
        "epochs",
        "The network marks the roads so blurred.",
        "sixteen steps of a U-Net",
        by_settings(lambda folder: data.roads(folder) | {"optimizer.lr": 2e-3, "loop.epochs": 15}, {"loop.epochs": 1}),
        ("too few epochs",),
        (Fix("more epochs", {"loop.epochs": between(4, 200)}),),
        Harm("mean_iou", 0.1),
    ),
    Case(
        "loans_learned_by_heart",
        "epochs",
        "I let it train over lunch. The training loss is wonderful.",
        "a large network for a hundred and fifty epochs of a few rows",
        by_settings(
            lambda folder: (
                data.loans(folder, count=800)
                | {"model.hidden": [128, 128], "loop.epochs": 8, "schedule.kind": "constant", "optimizer.lr": 2e-3}
            ),
            {"loop.epochs": 150},
        ),
        ("too many epochs",),
        (
            Fix("fewer epochs", {"loop.epochs": between(3, 25)}),
            Fix("dropout", {"model.dropout": between(0.4, 0.7)}),
            Fix("weight decay", {"optimizer.weight_decay": between(0.8, 3.0)}),
            Fix("a far lower rate", {"optimizer.lr": between(3e-5, 1.5e-4)}),
            Fix("a smaller network", {"model.hidden": lambda value: bool(value) and 4 <= max(value) <= 16}),
            Fix("early stopping", {"loop.early_stopping_patience": between(1, 10)}),
        ),
        Harm("loss", 0.15),
    ),
    Case(
        "grains_learned_by_heart",
        "epochs",
        "More epochs cannot hurt.",
        "a hundred epochs of classes that overlap",
        by_settings(
            lambda folder: (
                data.grains(folder, count=3000, spread=1.8)
                | {"model.hidden": [128, 128], "loop.epochs": 6, "schedule.kind": "constant", "optimizer.lr": 2e-3}
            ),
            {"loop.epochs": 120},
        ),
        ("too many epochs",),
        (
            Fix("fewer epochs", {"loop.epochs": between(2, 20)}),
            Fix("dropout", {"model.dropout": between(0.4, 0.7)}),
            Fix("weight decay", {"optimizer.weight_decay": between(0.8, 3.0)}),
            Fix("a far lower rate", {"optimizer.lr": between(3e-5, 1.5e-4)}),
            Fix("a smaller network", {"model.hidden": lambda value: bool(value) and 4 <= max(value) <= 24}),
            Fix("early stopping", {"loop.early_stopping_patience": between(1, 10)}),
        ),
        Harm("loss", 0.5),
    ),
    Case(
        "stops_at_the_first_hitch",
        "epochs",
        "Early stopping saves time: I stop as soon as a validation gains less than ten points.",
        "patience of one, and only ten points count as a gain",
        by_settings(
            lambda folder: data.glyphs(folder) | {"schedule.kind": "constant", "optimizer.lr": 1e-3, "loop.epochs": 15},
            {"loop.early_stopping_patience": 1, "loop.early_stopping_min_delta": 0.25},
        ),
        ("stopped too early",),
        (
            Fix("a smaller gain counts", {"loop.early_stopping_min_delta": between(0.0, 0.02)}),
            Fix("no early stopping", {"loop.early_stopping_patience": lambda value: value is None}),
            Fix("more patience", {"loop.early_stopping_patience": between(3, 1000)}),
        ),
        Harm("accuracy", 0.03),
    ),
    Case(
        "content_with_sixty_percent",
        "epochs",
        "In my first tests I let runs end at sixty percent, to be quick.",
        "a forgotten stopping threshold of 0.6",
        by_settings(
            lambda folder: data.glyphs(folder, kinds=8) | {"loop.epochs": 10},
            {"loop.stopping_threshold": 0.6},
        ),
        ("stopped too early",),
        (
            Fix("no threshold", {"loop.stopping_threshold": lambda value: value is None}),
            Fix("a higher threshold", {"loop.stopping_threshold": between(0.95, 1.0)}),
        ),
        Harm("accuracy", 0.1),
    ),
    Case(
        "milestones_in_steps",
        "schedule",
        "The rate is to drop at epochs 3 and 6, as in the paper.",
        "milestones meant as epochs that are steps",
        by_settings(
            lambda folder: (
                data.glyphs(folder) | {"schedule.kind": "multi_step", "schedule.milestones": ["4 epochs", "7 epochs"]}
            ),
            {"schedule.milestones": [4, 7]},
        ),
        ("schedule ends early",),
        (
            Fix("milestones in epochs", {"schedule.milestones": some_epochs}),
            Fix(
                "drops after epochs",
                {"schedule.kind": one_of("step"), "schedule.step_size": lambda value: some_epochs([value])},
            ),
            Fix(
                "another schedule",
                {"schedule.kind": one_of("cosine", "linear", "constant", "one_cycle", "wsd", "polynomial", "plateau")},
            ),
        ),
        Harm("accuracy", 0.1),
    ),
    Case(
        "rate_that_only_rises",
        "schedule",
        "Longer warm-ups made my runs steadier, so I made this one as long as I could.",
        "a warm-up over nearly the whole run",
        by_settings(
            lambda folder: data.bikes(folder) | {"optimizer.lr": 2e-2, "loop.epochs": 12},
            {"schedule.warmup": "95 %"},
        ),
        ("warm-up too long", "schedule ends late"),
        (
            Fix("a shorter warm-up", {"schedule.warmup": short_warmup}),
            Fix("a warm-up and a fall", {"schedule.kind": one_of("one_cycle")}),
        ),
        Harm("rmse", 2.0),
    ),
    Case(
        "falls_by_epochs_not_steps",
        "schedule",
        "The rate falls by the factor 0.9995, which I know from a longer run, but now once an epoch.",
        "an exponential decay for steps that goes by epochs, so the rate never falls",
        by_settings(
            lambda folder: (
                data.grains(folder)
                | {
                    "optimizer.kind": "sgd",
                    "optimizer.lr": 0.4,
                    "loop.batch_size": 16,
                    "schedule.kind": "exponential",
                    "schedule.gamma": 0.997,
                }
            ),
            {"schedule.gamma": 0.9995, "schedule.every": "epoch"},
        ),
        ("schedule ends late", "learning rate too high"),
        (
            Fix(
                "a faster fall by steps",
                {"schedule.every": one_of("step"), "schedule.gamma": between(0.99, 0.9995)},
            ),
            Fix("a faster fall by epochs", {"schedule.gamma": between(0.4, 0.9)}),
            Fix(
                "a schedule that falls to its end",
                {"schedule.kind": one_of("cosine", "linear", "one_cycle", "wsd", "polynomial")},
            ),
            Fix("larger batches, for that rate", {"loop.batch_size": between(96, 256)}),
            Fix("a lower rate", {"optimizer.lr": between(3e-3, 0.1)}),
        ),
        Harm("accuracy", 0.05),
    ),
)
