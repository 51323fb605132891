"""Runs that end too early or too late, and rates and schedules that do not fit their length."""

from __future__ import annotations

from pathlib import Path

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, between, by_network, by_settings, one_of
from tests.doctor.zoo.fourth.data import concrete, minerals, pieces, songs, stories, swings, trains
from tests.doctor.zoo.fourth.networks import convolutions


def _swings(folder: Path, seed: int) -> Settings:
    return by_network(lambda place: swings(place, 1500, seed), "", convolutions())(folder, False)


def _noisy_trains(folder: Path) -> Settings:
    return trains(folder, 1000, 13, clear=1.2) | {
        "model.hidden": [64, 64],
        "dataset.validation_fraction": 0.3,
        "loop.batch_size": 32,
    }


CASES = (
    Case(
        "concrete_after_two_days",
        "epochs",
        "Two epochs were quick, but the strength is far off.",
        "two epochs",
        by_settings(lambda folder: concrete(folder, 1500, 2), {"loop.epochs": 2}),
        ("too few epochs",),
        (Fix("Train longer.", {"loop.epochs": between(10, 500)}),),
        Harm("r2", 0.07),
    ),
    Case(
        "stories_of_a_coffee_break",
        "epochs",
        "I limited the steps to see whether it runs, and left that in.",
        "max_steps of 50",
        by_settings(stories, {"loop.max_steps": 50}),
        ("too few epochs", "stopped too early"),
        (
            Fix("Take the limit away.", {"loop.max_steps": one_of(None)}),
            Fix("Raise the limit.", {"loop.max_steps": between(200, 10**7)}),
        ),
        Harm("loss", 0.3),
    ),
    Case(
        "trains_known_by_heart",
        "epochs",
        "I let it train over lunch; the training loss is wonderful.",
        "250 epochs of 700 rows",
        by_settings(
            lambda folder: _noisy_trains(folder) | {"loop.epochs": 15, "optimizer.lr": 3e-3}, {"loop.epochs": 250}
        ),
        ("too many epochs",),
        (
            Fix("Train for fewer epochs.", {"loop.epochs": between(3, 50)}),
            Fix("Stop when validation gets worse.", {"loop.early_stopping_patience": between(1, 30)}),
        ),
        Harm("loss", 0.3),
    ),
    Case(
        "progress_of_a_fifth_or_stop",
        "epochs",
        "It stops after a few epochs each time, though it was still learning.",
        "early stopping that takes no gain of less than 0.2 for one, with a patience of 2",
        by_settings(
            lambda folder: songs(folder, 2000, 5) | {"loop.early_stopping_patience": 6},
            {"loop.early_stopping_patience": 2, "loop.early_stopping_min_delta": 0.2},
        ),
        ("stopped too early", "too few epochs"),
        (
            Fix("Take every gain for one.", {"loop.early_stopping_min_delta": between(0, 0.01)}),
            Fix("Do not stop early.", {"loop.early_stopping_patience": one_of(None)}),
            Fix("Be patient.", {"loop.early_stopping_patience": between(10, 10**6)}),
        ),
        Harm("loss", 0.1),
    ),
    Case(
        "songs_at_full_volume",
        "learning rate",
        "The loss jumps up and down.",
        "SGD with momentum at a rate of 4, unclipped",
        by_settings(
            lambda folder: (
                songs(folder, 2400, 7) | {"optimizer.kind": "sgd", "optimizer.lr": 0.05, "loop.clip_norm": 0.0}
            ),
            {"optimizer.lr": 4.0},
        ),
        ("learning rate too high",),
        (Fix("Lower the learning rate.", {"optimizer.lr": between(0.003, 0.6)}),),
        Harm("f1", 0.15),
    ),
    Case(
        "stories_shouted",
        "learning rate",
        "The model writes nothing but the letter e.",
        "AdamW at a rate of 0.3",
        by_settings(lambda folder: stories(folder, 900, 9), {"optimizer.lr": 0.3}),
        ("learning rate too high",),
        (Fix("Lower the learning rate.", {"optimizer.lr": between(3e-4, 0.03)}),),
        Harm("loss", 0.5),
    ),
    Case(
        "pieces_inch_by_inch",
        "learning rate",
        "The curve is a straight line that hardly falls.",
        "SGD with momentum at a rate of 0.00005",
        by_settings(
            lambda folder: pieces(folder, 200, 18, 23) | {"optimizer.kind": "sgd", "optimizer.lr": 0.05},
            {"optimizer.lr": 5e-5},
        ),
        ("learning rate too low",),
        (Fix("Raise the learning rate.", {"optimizer.lr": between(3e-3, 0.3)}),),
        Harm("accuracy", 0.3),
    ),
    Case(
        "swings_rate_from_fine_tuning",
        "learning rate",
        "I took 5e-6, which a paper had for fine-tuning.",
        "AdamW at a rate of 0.000005, from random weights",
        by_settings(lambda folder: _swings(folder, 3), {"optimizer.lr": 5e-6}),
        ("learning rate too low",),
        (Fix("Raise the learning rate.", {"optimizer.lr": between(3e-4, 0.03)}),),
        Harm("accuracy", 0.3),
    ),
    Case(
        "decay_every_five_of_what",
        "schedule",
        "The rate should fall by 70 % after every five epochs.",
        "step_size of 5 steps, where epochs were meant",
        by_settings(
            lambda folder: (
                minerals(folder, 2000, 12)
                | {
                    "schedule.kind": "step",
                    "schedule.step_size": "5 epochs",
                    "schedule.gamma": 0.3,
                    "loop.epochs": 20,
                    "optimizer.lr": 6e-3,
                }
            ),
            {"schedule.step_size": 5},
        ),
        ("schedule ends early",),
        (
            Fix("Count epochs.", {"schedule.step_size": lambda value: isinstance(value, str)}),
            Fix("Let it fall later.", {"schedule.step_size": between(100, 10**7)}),
            Fix(
                "Take another schedule.",
                {"schedule.kind": one_of("cosine", "linear", "one_cycle", "constant", "wsd", "plateau")},
            ),
        ),
        Harm("accuracy", 0.15),
    ),
    Case(
        "one_cycle_over_the_top",
        "schedule",
        "With one-cycle everything is fine until a third of the run.",
        "one-cycle with a highest rate of 0.5 for AdamW",
        by_settings(
            lambda folder: pieces(folder, 220, 18, 31, 4) | {"schedule.kind": "one_cycle", "optimizer.lr": 4e-3},
            {"schedule.max_lr": 0.5},
        ),
        ("schedule too high", "learning rate too high"),
        (
            Fix("Lower the top.", {"schedule.max_lr": between(3e-4, 0.03)}),
            Fix("Let it follow the learning rate.", {"schedule.max_lr": one_of(None)}),
            Fix("Take another schedule.", {"schedule.kind": one_of("cosine", "linear", "constant", "wsd", "plateau")}),
        ),
        Harm("accuracy", 0.2),
    ),
)
