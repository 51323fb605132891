"""Runs that are too short or too long, learning rates and schedules that do not suit."""

from __future__ import annotations

from pathlib import Path

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, between, by_settings, one_of
from tests.doctor.zoo.fifth.data import bikes, concrete, loans, plant, wines
from tests.doctor.zoo.fifth.pictures import digits, notices

# The length of a run.


def _few_loans(folder: Path) -> Settings:
    return loans(folder, count=500, seed=4) | {
        "dataset.validation_fraction": 0.4,
        "loop.batch_size": 32,
        "loop.epochs": 20,
    }


EPOCHS = (
    Case(
        "rentals_two_epochs",
        "epochs",
        "I pressed start with two epochs to see whether it works, and that is what I handed in. R2 is 0.4, the others in the course have 0.9.",
        "Two epochs; the loss is still falling fast at the end.",
        by_settings(bikes, {"loop.epochs": 2}),
        ("too few epochs",),
        (Fix("Train for more epochs.", {"loop.epochs": between(8, 300)}),),
        Harm("r2", 0.2),
    ),
    Case(
        "announcements_smoke_test",
        "epochs",
        "Loss went down nicely and then the run was simply over. The letters it writes are soup.",
        "max_steps was left at 60 after a smoke test: the run ends long before its epochs do.",
        by_settings(notices, {"loop.max_steps": 60}),
        ("too few epochs",),
        (
            Fix(
                "Take max_steps away, or make it far larger.",
                {"loop.max_steps": lambda value: value is None or value >= 240},
            ),
        ),
        Harm("perplexity", 0.8),
    ),
    Case(
        "loan_officer_overfits",
        "epochs",
        "More epochs can only help, I thought. Training accuracy is nearly 100 % now, but my colleague's model of 12 epochs is better on new clients.",
        "400 epochs at a constant rate on 300 rows: it learns them by heart.",
        by_settings(_few_loans, {"loop.epochs": 400, "schedule.kind": "constant"}),
        ("too many epochs",),
        (
            Fix("Stop when validation is at its best.", {"loop.early_stopping_patience": between(1, 60)}),
            Fix("Train for fewer epochs.", {"loop.epochs": between(3, 60)}),
        ),
        Harm("loss", 0.3),
    ),
    Case(
        "rentals_goal_too_low",
        "epochs",
        "I wanted it to stop when it is good. It stops in the first epochs and gives nearly the same number for each hour.",
        "stopping_threshold: it ends as soon as R2 is 0.3, though more than 0.9 can be had.",
        by_settings(lambda folder: bikes(folder) | {"checkpoints.monitor": "val/r2"}, {"loop.stopping_threshold": 0.3}),
        ("stopped too early",),
        (
            Fix(
                "Take the threshold away or ask for more.",
                {"loop.stopping_threshold": lambda value: value is None or value >= 0.85},
            ),
        ),
        Harm("r2", 0.15),
    ),
)

# Learning rates.

RATES = (
    Case(
        "wine_adam_rate_one",
        "learning rate",
        "The old code used SGD with 1.0 and I only swapped in Adam. Now it predicts one cultivar for everything.",
        "Adam with a learning rate of 1: each weight jumps by 1 in each step.",
        by_settings(
            lambda folder: wines(folder) | {"optimizer.kind": "adam", "schedule.kind": "constant"},
            {"optimizer.lr": 1.0},
        ),
        ("learning rate too high",),
        (Fix("A far lower rate.", {"optimizer.lr": between(1e-4, 3e-2)}),),
        Harm("loss", 0.15),
    ),
    Case(
        "digits_rmsprop_rate",
        "learning rate",
        "RMSprop on small images. 10 % accuracy, that is guessing; the loss says 2.30 from the first epoch to the last.",
        "RMSprop with a learning rate of 0.1 kills the network in its first steps.",
        by_settings(
            lambda folder: digits(folder) | {"optimizer.kind": "rmsprop", "optimizer.lr": 1e-3},
            {"optimizer.lr": 0.1},
        ),
        ("learning rate too high",),
        (Fix("A far lower rate.", {"optimizer.lr": between(1e-4, 5e-3)}),),
        Harm("accuracy", 0.3),
    ),
    Case(
        "strength_rate_in_millionths",
        "learning rate",
        "I was afraid of divergence, so I took 2e-6. Stable it is! 40 epochs and R2 is about zero.",
        "AdamW with a learning rate of 0.000002.",
        by_settings(concrete, {"optimizer.lr": 2e-6}),
        ("learning rate too low",),
        (Fix("A far higher rate.", {"optimizer.lr": between(3e-4, 3e-2)}),),
        Harm("r2", 0.4),
    ),
)

# Schedules.

SCHEDULES = (
    Case(
        "rentals_drops_every_20_steps",
        "schedule",
        "StepLR(20, 0.1), as I always do: a tenth each twenty. The loss freezes in the first epochs.",
        "The rate falls to a tenth each 20 steps, where 20 epochs were meant: after the second epoch nothing moves any more.",
        by_settings(
            lambda folder: (
                bikes(folder) | {"schedule.kind": "step", "schedule.step_size": "20 epochs", "schedule.gamma": 0.1}
            ),
            {"schedule.step_size": 20},
        ),
        ("schedule ends early",),
        (
            Fix("Count the drops in epochs.", {"schedule.step_size": lambda value: _epochs(value, 8)}),
            Fix("Drop less.", {"schedule.gamma": between(0.9, 1.0)}),
            Fix(
                "Another schedule.",
                {"schedule.kind": one_of("cosine", "one_cycle", "constant", "linear", "plateau", "wsd")},
            ),
        ),
        Harm("r2", 0.15),
    ),
    Case(
        "plant_restarts_at_the_end",
        "schedule",
        "Warm restarts, because they got somebody out of a bad minimum. The curve is fine, and at the very end everything is undone.",
        "The rate of SGD jumps back to its height when 95 % of the run are over, and the run ends there.",
        by_settings(
            lambda folder: (
                plant(folder)
                | {
                    "optimizer.kind": "sgd",
                    "optimizer.lr": 0.2,
                    "loop.batch_size": 8,
                    "loop.epochs": 10,
                    "schedule.kind": "cosine_restarts",
                    "schedule.t_0": "50 %",
                }
            ),
            {"schedule.t_0": "95 %"},
        ),
        ("schedule ends late",),
        (
            Fix(
                "Cycles that end with the run.",
                {"schedule.t_0": one_of("50 %", "100 %", "25 %", "20 %", "33 %", "10 epochs", "5 epochs")},
            ),
            Fix(
                "A schedule that ends with the run.",
                {"schedule.kind": one_of("cosine", "one_cycle", "linear", "wsd", "polynomial")},
            ),
        ),
        Harm("r2", 0.01),
    ),
    Case(
        "announcer_peak_too_high",
        "schedule",
        "One cycle with the peak that a range test gave me for SGD on another project. In the middle of the run it forgets all words.",
        "max_lr 0.8 of one_cycle with AdamW, more than a hundred times the optimizer's own rate.",
        by_settings(lambda folder: notices(folder) | {"schedule.kind": "one_cycle"}, {"schedule.max_lr": 0.8}),
        ("schedule too high", "learning rate too high"),
        (
            Fix("A far lower peak.", {"schedule.max_lr": lambda value: value is None or value <= 0.03}),
            Fix("A schedule without it.", {"schedule.kind": one_of("cosine", "constant", "linear")}),
        ),
        Harm("perplexity", 0.5),
    ),
    Case(
        "rentals_warmed_to_the_end",
        "schedule",
        "Warm-up is good for large rates, so I let it warm up nearly all the way. The error gets better and better, and then worse towards the end.",
        "The rate of SGD rises until 98 % of the run are over, where it should have fallen to nothing.",
        by_settings(
            lambda folder: (
                bikes(folder)
                | {
                    "optimizer.kind": "sgd",
                    "optimizer.lr": 0.2,
                    "loop.batch_size": 16,
                    "schedule.warmup": "5 %",
                }
            ),
            {"schedule.warmup": "98 %"},
        ),
        ("warm-up too long",),
        (Fix("A warm-up of a small part of the run.", {"schedule.warmup": lambda value: _short(value, 1200)}),),
        Harm("r2", 0.04),
    ),
)


def _epochs(value: object, least: float) -> bool:
    """Whether a duration is one of more than ``least`` epochs (of 40 steps)."""
    if isinstance(value, str):
        number, _, unit = value.partition(" ")
        scale = {"epochs": 1.0, "epoch": 1.0, "%": 0.3}.get(unit, 1 / 40)
        return float(number) * scale > least
    return isinstance(value, int | float) and value / 40 > least


def _short(value: object, steps: float) -> bool:
    """Whether a warm-up takes ``steps`` at most, of a run of 4500 with epochs of 150."""
    if isinstance(value, str):
        number, _, unit = value.partition(" ")
        return float(number) * {"epochs": 150.0, "epoch": 150.0, "%": 45.0}.get(unit, 1.0) <= steps
    return isinstance(value, int | float) and value <= steps


CASES = (*EPOCHS, *RATES, *SCHEDULES)
