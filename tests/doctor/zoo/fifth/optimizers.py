"""Optimizers, batches and regularization that do not suit."""

from __future__ import annotations

from tests.doctor.zoo.case import Case, Fix, Harm, between, by_settings, one_of
from tests.doctor.zoo.fifth.data import concrete, loans, wines
from tests.doctor.zoo.fifth.pictures import arrows, digits, notices

_ADAPTIVE = one_of("adamw", "adam", "nadam", "radam", "muon", "rmsprop", "adafactor")

OPTIMIZERS = (
    Case(
        "announcements_plain_sgd",
        "optimizer",
        "SGD is said to generalize better. My transformer only ever learns which letters are common.",
        "Plain SGD without momentum on a transformer, which hardly moves.",
        by_settings(
            notices,
            {"optimizer.kind": "sgd", "optimizer.lr": 0.01, "optimizer.momentum": 0.0, "optimizer.nesterov": False},
        ),
        ("unsuitable optimizer", "learning rate too low"),
        (Fix("An adaptive optimizer.", {"optimizer.kind": _ADAPTIVE}),),
        Harm("perplexity", 1.0),
    ),
    Case(
        "strength_adam_eps_one",
        "optimizer",
        "I raised epsilon against instabilities (a forum said 1.0 for Inception). It learns, but as if through syrup.",
        "Adam with eps 1.0: the steps are as small as the gradients.",
        by_settings(
            lambda folder: concrete(folder) | {"optimizer.kind": "adam", "optimizer.lr": 2e-3, "loop.epochs": 30},
            {"optimizer.eps": 1.0},
        ),
        ("optimizer settings",),
        (Fix("eps of 1e-8.", {"optimizer.eps": between(1e-12, 1e-4)}),),
        Harm("r2", 0.08),
    ),
    Case(
        "arrows_only_the_head",
        "optimizer",
        "I learned to freeze the body and train the head. The network is my own small one, from scratch, and it is stuck.",
        "All but the last layer is frozen at random weights.",
        by_settings(arrows, {"optimizer.freeze": "all_but_head"}),
        ("frozen layers",),
        (
            Fix("Freeze nothing.", {"optimizer.freeze": one_of("off")}),
            Fix("Unfreeze early.", {"optimizer.unfreeze_epoch": between(1, 3)}),
        ),
        Harm("accuracy", 0.15),
    ),
)


BATCHES = (
    Case(
        "loans_one_batch_an_epoch",
        "batch",
        "The whole table fits into memory, so the batch is the whole table: it flies! It is just not any good after 12 epochs.",
        "A batch holds all 1920 rows: 12 steps in all.",
        by_settings(lambda folder: loans(folder) | {"optimizer.lr": 2e-3}, {"loop.batch_size": 2048}),
        ("batch too large", "too few epochs"),
        (
            Fix("Small batches.", {"loop.batch_size": between(8, 256)}),
            Fix("Ten times the epochs.", {"loop.epochs": between(150, 4000)}),
        ),
        Harm("loss", 0.05),
    ),
    Case(
        "cultivars_norm_of_two",
        "batch",
        "I added batch norm as it makes everything train better. With my batch of 2 (small GPU) it got worse instead.",
        "Batch normalization over batches of two rows: what a row looks like depends on its one neighbor.",
        by_settings(
            lambda folder: wines(folder, count=900) | {"model.norm": "batch", "loop.epochs": 8},
            {"loop.batch_size": 2},
        ),
        ("batch too small",),
        (
            Fix("Batches of more rows.", {"loop.batch_size": between(8, 256)}),
            Fix("A norm that does not look at the batch.", {"model.norm": one_of("layer", "group", "none")}),
        ),
        Harm("loss", 0.08),
    ),
)

REGULARIZATION = (
    Case(
        "digits_decay_of_ten",
        "regularization",
        "Weight decay against overfitting; I went up until train and validation agreed. They agree, at 11 %.",
        "A weight decay of 10 pulls all weights to zero.",
        by_settings(
            digits,
            {"optimizer.weight_decay": 10.0},
        ),
        ("regularization too strong",),
        (Fix("A weight decay of a hundredth.", {"optimizer.weight_decay": between(0, 0.5)}),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "digits_everything_at_once",
        "regularization",
        "My data set is small, so I switched on all I could find against overfitting. Neither training nor validation gets anywhere.",
        "Dropout, label smoothing, mixup, CutMix, erasing and weight decay together on a small network of fourteen epochs.",
        by_settings(
            digits,
            {
                "model.dropout": 0.6,
                "objective.label_smoothing": 0.3,
                "dataset.mixup_alpha": 2.0,
                "dataset.cutmix_alpha": 2.0,
                "dataset.erasing": 0.8,
                "optimizer.weight_decay": 0.5,
            },
        ),
        ("redundant regularization", "regularization too strong"),
        (
            Fix(
                "Take most of it away.",
                {
                    "model.dropout": between(0, 0.3),
                    "dataset.mixup_alpha": between(0, 0.3),
                    "dataset.cutmix_alpha": between(0, 0.3),
                },
            ),
            Fix(
                "No mixing.",
                {
                    "dataset.mixup_alpha": between(0, 0.2),
                    "dataset.cutmix_alpha": between(0, 0.2),
                    "objective.label_smoothing": between(0, 0.1),
                },
            ),
            Fix(
                "No dropout, less smoothing.",
                {"model.dropout": between(0, 0.3), "objective.label_smoothing": between(0, 0.1)},
            ),
        ),
        Harm("accuracy", 0.12),
    ),
)

CASES = (*OPTIMIZERS, *BATCHES, *REGULARIZATION)
