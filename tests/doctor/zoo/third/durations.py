"""How long, in how large steps, by which optimizer and schedule, in batches of what size."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.doctor.zoo.case import Accept, Case, Fix, Harm, Settings, between, by_settings, one_of
from tests.doctor.zoo.third.pictures import cells, leaves, letters, recipes, vibrations
from tests.doctor.zoo.third.tables import (
    adam,
    arm,
    articles,
    changed,
    concrete,
    flights,
    hearts,
    heating,
    minerals,
)


def none_or(low: float, high: float) -> Accept:
    """Nothing, or a number from ``low`` to ``high``."""
    inside = between(low, high)
    return lambda value: value is None or inside(value)


def pair(first: Accept, second: Accept) -> Accept:
    """Two numbers, each as it should be."""

    def accept(value: Any) -> bool:
        return isinstance(value, list | tuple) and len(value) == 2 and first(value[0]) and second(value[1])

    return accept


def short(value: Any) -> bool:
    """At most a quarter of a run of twelve epochs and some 380 steps."""
    text = str(value)
    most = 3 if "epoch" in text else 25 if "%" in text else 100
    return float(text.split()[0].rstrip("%")) <= most


CLASSIC: Settings = {
    "model.norm": "batch",
    "optimizer.kind": "sgd",
    "optimizer.lr": 0.1,
    "schedule.kind": "cosine",
    "dataset.flip": True,
}

CASES = (
    # How long.
    Case(
        "two_epochs_of_concrete",
        "epochs",
        "My first run. I left the epochs at two to see whether it works, and R2 is poor.",
        "two epochs, in which the loss still falls steeply",
        by_settings(partial(concrete, count=2000, seed=21), {"loop.epochs": 2}),
        ("too few epochs",),
        (Fix("train longer", {"loop.epochs": between(8, 300)}),),
        Harm("r2", 0.1),
    ),
    Case(
        "eight_steps_to_try_it_out",
        "epochs",
        "It says 16 epochs, but a run takes a second. The slides come out all one color.",
        "max_steps of 8 is left from a trial",
        by_settings(changed(partial(cells, count=110, seed=22), {"loop.epochs": 16}), {"loop.max_steps": 8}),
        ("too few epochs", "stopped too early"),
        (Fix("no limit of steps", {"loop.max_steps": none_or(80, 10**6)}),),
        Harm("mean_iou", 0.2),
    ),
    Case(
        "four_hundred_hearts_by_heart",
        "epochs",
        "The longer the better: after 150 epochs the training loss is next to nothing. New patients are judged badly.",
        "150 epochs with a large network and few, noisy rows; validation loss rises from the tenth epoch on",
        by_settings(
            changed(
                partial(hearts, count=500, seed=24, sharpness=1.2),
                {
                    "model.hidden": [64, 64],
                    "loop.epochs": 12,
                    "loop.batch_size": 32,
                    **adam(1.5e-3),
                    "dataset.validation_fraction": 0.3,
                },
            ),
            {"loop.epochs": 150, "schedule.kind": "constant"},
        ),
        ("too many epochs",),
        (
            Fix("fewer epochs", {"loop.epochs": between(3, 25)}),
            Fix("stop early", {"loop.early_stopping_patience": between(1, 25)}),
        ),
        Harm("loss", 0.3),
    ),
    Case(
        "steps_worth_a_tenth",
        "epochs",
        "Early stopping is on, with a min_delta so that noise does not count. It stops after a few epochs, at a poor score.",
        "early_stopping_min_delta of 0.1: after the first leap no epoch gains as much",
        by_settings(
            changed(
                partial(minerals, count=2400, seed=25, kinds=7),
                {
                    "loop.epochs": 60,
                    "optimizer.lr": 5e-4,
                    "schedule.kind": "constant",
                    "loop.early_stopping_patience": 5,
                },
            ),
            {"loop.early_stopping_min_delta": 0.1},
        ),
        ("stopped too early",),
        (
            Fix("a smaller min_delta", {"loop.early_stopping_min_delta": between(0.0, 0.01)}),
            Fix("no early stopping", {"loop.early_stopping_patience": one_of(None)}),
            Fix("more patience", {"loop.early_stopping_patience": between(20, 1000)}),
        ),
        Harm("accuracy", 0.03),
    ),
    Case(
        "good_enough_at_the_first_look",
        "epochs",
        "I entered a stopping threshold from the forum. The ranking is done after one epoch, and it is not good.",
        "stopping_threshold of 0.7 for NDCG, which even a poor ranking reaches",
        by_settings(
            changed(partial(flights, queries=650, seed=26), {"optimizer.lr": 1e-3}), {"loop.stopping_threshold": 0.7}
        ),
        ("stopped too early",),
        (Fix("a higher threshold, or none", {"loop.stopping_threshold": none_or(0.985, 1.0)}),),
        Harm("ndcg", 0.02),
    ),
    # The learning rate.
    Case(
        "hearts_at_half",
        "learning rate",
        "The loss jumps up and down between 0.2 and 0.5, from epoch to epoch.",
        "AdamW at a rate of 0.5",
        by_settings(
            changed(partial(hearts, count=2500, seed=27), {"schedule.kind": "constant", "optimizer.lr": 1e-3}),
            {"optimizer.lr": 0.5},
        ),
        ("learning rate too high",),
        (Fix("a lower rate", {"optimizer.lr": between(5e-4, 1e-2)}),),
        Harm("loss", 0.08),
    ),
    Case(
        "leaves_by_rmsprop_at_a_tenth",
        "learning rate",
        "RMSprop with 0.1, which I always took for SGD. Every leaf is an oak.",
        "RMSprop at a rate of 0.1",
        by_settings(
            changed(partial(leaves, each=220, seed=28), {"optimizer.kind": "rmsprop", "optimizer.lr": 1e-3}),
            {"optimizer.lr": 0.1},
        ),
        ("learning rate too high",),
        (Fix("a lower rate", {"optimizer.lr": between(3e-4, 5e-3)}),),
        Harm("accuracy", 0.3),
    ),
    Case(
        "recipes_at_a_third",
        "learning rate",
        "The loss of my little GPT falls to about 3 and stays there.",
        "AdamW at a rate of 0.3 for a transformer",
        by_settings(partial(recipes, count=1000, seed=29), {"optimizer.lr": 0.3}),
        ("learning rate too high",),
        (Fix("a lower rate", {"optimizer.lr": between(2e-3, 2e-2)}),),
        Harm("loss", 0.5),
    ),
    Case(
        "tags_at_a_hundred_thousandth",
        "learning rate",
        "I was told to be careful with the learning rate. The curve is a line without a bend.",
        "SGD at a rate of 0.00001",
        by_settings(
            changed(partial(articles, count=2400, seed=30), {"optimizer.kind": "sgd", "optimizer.lr": 0.1}),
            {"optimizer.lr": 1e-5},
        ),
        ("learning rate too low",),
        (Fix("a higher rate", {"optimizer.lr": between(2e-2, 1.0)}),),
        Harm("loss", 0.15),
    ),
    Case(
        "offers_at_a_snail_s_pace",
        "learning rate",
        "Fifteen epochs, and the ranking is as it was after the first.",
        "Adam at a rate of 0.000003",
        by_settings(
            changed(partial(flights, queries=750, seed=31), {"optimizer.kind": "adam"}), {"optimizer.lr": 3e-6}
        ),
        ("learning rate too low",),
        (Fix("a higher rate", {"optimizer.lr": between(5e-4, 5e-2)}),),
        Harm("ndcg", 0.05),
    ),
    # The optimizer.
    Case(
        "eps_from_the_inception_paper",
        "optimizer",
        "RMSprop with epsilon 1.0, as in the paper on Inception. Nothing happens for epochs.",
        "eps of 1, beside which all gradients are small, so steps are tiny",
        by_settings(
            changed(partial(letters, each=280, seed=33), {"optimizer.kind": "rmsprop", "optimizer.lr": 1e-3}),
            {"optimizer.eps": 1.0},
        ),
        ("optimizer settings",),
        (Fix("a smaller eps", {"optimizer.eps": between(1e-12, 1e-3)}),),
        Harm("accuracy", 0.2),
    ),
    Case(
        "recipes_by_bare_sgd",
        "optimizer",
        "SGD at 0.01, no momentum, the textbook's choice. After five epochs the text is letters and blanks.",
        "plain SGD at a small rate for a transformer",
        by_settings(
            partial(recipes, count=1150, seed=34),
            {"optimizer.kind": "sgd", "optimizer.lr": 0.01, "optimizer.momentum": 0.0, "optimizer.nesterov": False},
        ),
        ("unsuitable optimizer", "learning rate too low"),
        (
            Fix(
                "an optimizer of Adam's family",
                {
                    "optimizer.kind": one_of("adamw", "adam", "nadam", "radam", "muon"),
                    "optimizer.lr": between(2e-3, 2e-2),
                },
            ),
        ),
        Harm("loss", 0.5),
    ),
    Case(
        "thaws_when_all_is_over",
        "optimizer",
        "Freeze first, thaw for the last one, as in the fine-tuning course. My network is new, and I have ten epochs.",
        "all layers but the last are frozen at random weights until the last epoch, when the rate is next to nothing",
        by_settings(
            changed(partial(letters, each=400, seed=35, kinds=8), {"loop.epochs": 10, "model.channels": [8, 16]}),
            {"optimizer.freeze": "all_but_head", "optimizer.unfreeze_epoch": 9},
        ),
        ("frozen layers",),
        (
            Fix("freeze nothing", {"optimizer.freeze": one_of("off")}),
            Fix("thaw soon", {"optimizer.unfreeze_epoch": between(1, 4)}),
        ),
        Harm("accuracy", 0.08),
    ),
    Case(
        "houses_with_a_heavy_flywheel",
        "optimizer",
        "More momentum is smoother, so I took 0.999. The loss swings up and down in long waves.",
        "SGD with a momentum of 0.999",
        by_settings(
            changed(
                partial(heating, count=2500, seed=38),
                {"optimizer.kind": "sgd", "optimizer.lr": 0.01, "schedule.kind": "constant"},
            ),
            {"optimizer.momentum": 0.999},
        ),
        ("optimizer settings",),
        (Fix("less momentum", {"optimizer.momentum": between(0.0, 0.97)}),),
        Harm("r2", 0.05),
    ),
    # Batches.
    Case(
        "all_houses_at_once",
        "batch",
        "My memory is large, so all rows go in one batch. Twenty epochs are twenty steps.",
        "batch_size of 4096 with 2400 rows to train on",
        by_settings(changed(partial(heating, count=3000, seed=39), {"loop.epochs": 20}), {"loop.batch_size": 4096}),
        ("batch too large", "too few epochs"),
        (
            Fix("smaller batches", {"loop.batch_size": between(8, 256)}),
            Fix("far more epochs", {"loop.epochs": between(300, 10**5)}),
        ),
        Harm("r2", 0.2),
    ),
    Case(
        "one_step_for_twenty_batches",
        "batch",
        "Gradient accumulation makes large batches, and large batches are good. My letters are hardly learned.",
        "accumulation of 40 batches of 32, so one step an epoch",
        by_settings(partial(letters, each=270, seed=40), {"loop.accumulation": 40}),
        ("batch too large", "too few epochs"),
        (
            Fix("less accumulation", {"loop.accumulation": between(1, 4)}),
            Fix("far more epochs", {"loop.epochs": between(120, 10**5)}),
        ),
        Harm("accuracy", 0.2),
    ),
    Case(
        "leaves_in_twos",
        "batch",
        "The card is small, so two images at a time, with batch norm as usual. The curves look like a seismograph.",
        "batch norm over two images, at a rate that suits 32",
        by_settings(changed(partial(leaves, each=440, seed=41), CLASSIC), {"loop.batch_size": 2}),
        ("batch too small",),
        (Fix("larger batches", {"loop.batch_size": between(12, 256)}),),
        Harm("accuracy", 0.08),
    ),
    # Schedules.
    Case(
        "plateau_at_every_hiccup",
        "schedule",
        "The rate is divided by ten whenever validation does not improve. After ten epochs it is zero, and nothing moves.",
        "plateau with patience 0 and a threshold that hardly any epoch passes",
        by_settings(
            changed(
                partial(minerals, count=2500, seed=42, kinds=8),
                {
                    "loop.epochs": 40,
                    "schedule.kind": "plateau",
                    "schedule.patience": 4,
                    "schedule.factor": 0.3,
                    "optimizer.lr": 2e-3,
                },
            ),
            {"schedule.patience": 0, "schedule.factor": 0.1, "schedule.threshold": 0.15},
        ),
        ("schedule ends early",),
        (
            Fix("more patience", {"schedule.patience": between(2, 100), "schedule.threshold": between(0, 0.02)}),
            Fix("another schedule", {"schedule.kind": one_of("cosine", "constant", "linear", "one_cycle", "wsd")}),
        ),
        Harm("accuracy", 0.05),
    ),
    Case(
        "drops_as_in_resnet",
        "schedule",
        "The rate drops at 30, 60 and 90, as for ResNet. Here those are steps.",
        "the rate falls by ten after 30, 60 and 90 of some 800 steps",
        by_settings(
            changed(
                partial(arm, count=2600, seed=43),
                {
                    "optimizer.kind": "sgd",
                    "optimizer.lr": 0.01,
                    "schedule.kind": "multi_step",
                    "schedule.milestones": ["12 epochs", "20 epochs"],
                },
            ),
            {"schedule.milestones": [30, 60, 90]},
        ),
        ("schedule ends early",),
        (
            Fix("another schedule", {"schedule.kind": one_of("cosine", "constant", "linear", "one_cycle", "wsd")}),
            Fix(
                "milestones in epochs",
                {
                    "schedule.milestones": lambda value: (
                        bool(value) and all("epoch" in str(each) or "%" in str(each) for each in value)
                    )
                },
            ),
        ),
        Harm("r2", 0.1),
    ),
    Case(
        "one_cycle_to_three",
        "schedule",
        "One-cycle with a max_lr of 3, as in the post on super-convergence. The loss leaps to the sky and stays.",
        "one-cycle up to 3 with AdamW",
        by_settings(
            changed(partial(vibrations, seed=45), {"schedule.kind": "one_cycle", "schedule.max_lr": 3e-3}),
            {"schedule.max_lr": 3.0},
        ),
        ("schedule too high", "learning rate too high"),
        (
            Fix("a lower top", {"schedule.max_lr": none_or(3e-4, 3e-2)}),
            Fix("another schedule", {"schedule.kind": one_of("cosine", "constant", "linear", "wsd", "polynomial")}),
        ),
        Harm("accuracy", 0.1),
    ),
)
