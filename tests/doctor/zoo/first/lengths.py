"""Epochs, learning rate, optimizer and batch: how long, how fast and how many at a time."""

from __future__ import annotations

from pathlib import Path

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, between, by_settings, one_of
from tests.doctor.zoo.draws import customers, flowers, houses, masks, ranked, shapes, spiral, text


def few_customers(folder: Path) -> Settings:
    return customers(folder, 260, seed=3) | {
        "model.hidden": [128, 128],
        "objective.kind": "classification",
        "schedule.kind": "constant",
        "loop.epochs": 8,
        "loop.batch_size": 32,
    }


EPOCHS = (
    Case(
        "one_epoch_of_flowers",
        "epochs",
        "I pressed Start and it was done in a second with 40 % accuracy. Is my table too hard?",
        "a single epoch of 15 steps",
        by_settings(lambda folder: flowers(folder) | {"optimizer.lr": 1e-3}, {"loop.epochs": 1}),
        ("too few epochs",),
        (Fix("more epochs", {"loop.epochs": between(5, 10**6)}),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "forgotten_max_steps",
        "epochs",
        "Eight epochs are set, but the model is as bad as a coin. Smaller learning rates do not help.",
        "max_steps = 12 was left over from a quick try",
        by_settings(shapes, {"loop.max_steps": 12}),
        ("too few epochs",),
        (Fix("no limit of steps, or a higher one", {"loop.max_steps": lambda value: value is None or value >= 100}),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "memorized_customers",
        "epochs",
        "Training loss is almost zero, validation loss is above 2 and rising, and I would like to train even longer. 260 customers.",
        "200 epochs on 208 noisy rows, without early stopping",
        by_settings(few_customers, {"loop.epochs": 200}),
        ("too many epochs",),
        (
            Fix("fewer epochs", {"loop.epochs": between(2, 40)}),
            Fix("early stopping", {"loop.early_stopping_patience": between(1, 40)}),
        ),
        Harm("loss", 0.3),
    ),
    Case(
        "impatient_early_stopping",
        "epochs",
        "I use early stopping so that I need not think about epochs. It always ends in the second or third epoch.",
        "patience 1 with a min delta of 5 points ends the run while it still learns",
        by_settings(
            lambda folder: spiral(folder) | {"optimizer.lr": 2e-3},
            {"loop.early_stopping_patience": 1, "loop.early_stopping_min_delta": 0.05},
        ),
        ("stopped too early",),
        (
            Fix("no early stopping", {"loop.early_stopping_patience": one_of(None)}),
            Fix("more patience", {"loop.early_stopping_patience": between(5, 10**6)}),
        ),
        Harm("accuracy", 0.1),
    ),
    Case(
        "text_of_forty_steps",
        "epochs",
        "It writes 'te  a e thh ee'. Should I buy a larger GPU?",
        "40 steps are all that the language model gets",
        by_settings(text, {"loop.max_steps": 40}),
        ("too few epochs",),
        (Fix("no limit of steps, or a higher one", {"loop.max_steps": lambda value: value is None or value >= 120}),),
        Harm("loss", 0.3),
    ),
)

RATES = (
    Case(
        "rate_of_one_on_shapes",
        "learning rate",
        "The loss jumped to 30 in the first steps and then stays at 1.386 forever. All pictures get the same class.",
        "AdamW with a learning rate of 1",
        by_settings(shapes, {"optimizer.lr": 1.0}),
        ("learning rate too high",),
        (Fix("a lower rate", {"optimizer.lr": between(1e-4, 2e-2)}),),
        Harm("accuracy", 0.2),
    ),
    Case(
        "tiny_rate_on_houses",
        "learning rate",
        "I was told to be careful and took 1e-6. It trains without any problem, but R2 is negative after 30 epochs.",
        "AdamW with a learning rate of 1e-6",
        by_settings(houses, {"optimizer.lr": 1e-6}),
        ("learning rate too low",),
        (Fix("a higher rate", {"optimizer.lr": between(3e-4, 3e-2)}),),
        Harm("r2", 0.3),
    ),
    Case(
        "sgd_runs_away",
        "learning rate",
        "Loss: 1.1, 48, 2e9, nan. I have no clipping because I want to see the real gradients.",
        "SGD with momentum at a learning rate of 2, unclipped",
        by_settings(
            lambda folder: (
                houses(folder)
                | {
                    "optimizer.kind": "sgd",
                    "optimizer.lr": 0.01,
                    "loop.clip_norm": 0.0,
                    "objective.loss": "mse",
                    "schedule.kind": "constant",
                }
            ),
            {"optimizer.lr": 2.0},
        ),
        ("learning rate too high",),
        (Fix("a lower rate", {"optimizer.lr": between(1e-4, 0.1)}),),
        Harm("r2", 0.3),
    ),
    Case(
        "restless_text",
        "learning rate",
        "The loss of my little GPT goes down to 2.8, which is what letter frequencies give, and wobbles there.",
        "AdamW with a learning rate of 0.3 on a transformer",
        by_settings(text, {"optimizer.lr": 0.3}),
        ("learning rate too high",),
        (Fix("a lower rate", {"optimizer.lr": between(3e-4, 2e-2)}),),
        Harm("loss", 0.5),
    ),
    Case(
        "sleepy_masks",
        "learning rate",
        "The mask is completely empty after 12 epochs. The images are fine, I looked at them.",
        "AdamW with a learning rate of 1e-6 on a U-Net",
        by_settings(masks, {"optimizer.lr": 1e-6}),
        ("learning rate too low",),
        (Fix("a higher rate", {"optimizer.lr": between(2e-4, 3e-2)}),),
        Harm("mean_iou", 0.2),
    ),
)

OPTIMIZERS = (
    Case(
        "sgd_with_the_rate_of_adam",
        "optimizer",
        "A blog says SGD generalizes better than Adam. I switched and left everything else, and the spiral is not learned any more.",
        "plain SGD without momentum at the learning rate that Adam had",
        by_settings(
            spiral,
            {
                "optimizer.kind": "sgd",
                "optimizer.lr": 1e-3,
                "optimizer.momentum": 0.0,
                "optimizer.nesterov": False,
            },
        ),
        ("unsuitable optimizer", "learning rate too low", "optimizer settings"),
        (
            Fix("a rate that suits SGD", {"optimizer.kind": one_of("sgd"), "optimizer.lr": between(0.03, 2.0)}),
            Fix(
                "another optimizer",
                {
                    "optimizer.kind": one_of("adam", "adamw", "nadam", "radam", "muon", "rmsprop"),
                    "optimizer.lr": between(5e-4, 3e-2),
                },
            ),
        ),
        Harm("accuracy", 0.2),
    ),
    Case(
        "adam_with_eps_of_one",
        "optimizer",
        "I copied eps = 1.0 from the comment in the documentation about Inception. My small network hardly moves.",
        "Adam with eps = 1, far above the size of its gradients",
        by_settings(shapes, {"optimizer.eps": 1.0}),
        ("optimizer settings", "learning rate too low"),
        (Fix("the default eps", {"optimizer.eps": between(1e-12, 1e-3)}),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "head_on_random_features",
        "optimizer",
        "For transfer learning one freezes everything but the head. I did this with the small CNN, and it is stuck at a mediocre accuracy.",
        "everything but the head is frozen, and the network has no pretrained weights",
        by_settings(
            lambda folder: shapes(folder) | {"loop.epochs": 6},
            {"optimizer.freeze": "all_but_head"},
        ),
        ("frozen layers",),
        (Fix("train all layers", {"optimizer.freeze": one_of("off")}),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "adagrad_at_the_rate_of_adam",
        "optimizer",
        "Adagrad needs no tuning, they say. My offers are ranked no better after twelve epochs than after one.",
        "Adagrad at a rate of 0.0003, which only shrinks from there",
        by_settings(ranked, {"optimizer.kind": "adagrad", "optimizer.lr": 3e-4}),
        ("unsuitable optimizer", "learning rate too low", "optimizer settings"),
        (
            Fix("a rate that suits Adagrad", {"optimizer.lr": between(3e-3, 0.5)}),
            Fix(
                "another optimizer",
                {
                    "optimizer.kind": one_of("adam", "adamw", "nadam", "radam", "muon", "rmsprop"),
                    "optimizer.lr": between(5e-4, 3e-2),
                },
            ),
        ),
        Harm("ndcg", 0.03),
    ),
    Case(
        "too_much_momentum",
        "optimizer",
        "More momentum is supposed to be faster. The loss swings up and down in long waves and ends high.",
        "SGD with a momentum of 0.999 at the rate that suits 0.9",
        by_settings(
            lambda folder: (
                flowers(folder)
                | {
                    "optimizer.kind": "sgd",
                    "optimizer.lr": 0.05,
                    "optimizer.momentum": 0.9,
                    "schedule.kind": "constant",
                }
            ),
            {"optimizer.momentum": 0.999},
        ),
        ("optimizer settings", "learning rate too high"),
        (
            Fix("less momentum", {"optimizer.momentum": between(0.0, 0.98)}),
            Fix("a far lower rate", {"optimizer.lr": between(1e-5, 2e-3)}),
        ),
        Harm("loss", 0.1),
    ),
)

BATCHES = (
    Case(
        "all_flowers_in_one_batch",
        "batch",
        "My GPU has 24 GB, so I use the largest batch that fits: all rows at once. 20 epochs as before, but it is much worse now.",
        "one batch of all 960 rows: 20 steps in 20 epochs",
        by_settings(lambda folder: flowers(folder) | {"optimizer.lr": 1e-3}, {"loop.batch_size": 960}),
        ("batch too large", "too few epochs"),
        (
            Fix("smaller batches", {"loop.batch_size": between(4, 200)}),
            Fix("many more epochs", {"loop.epochs": between(120, 10**6)}),
        ),
        Harm("accuracy", 0.1),
    ),
    Case(
        "accumulates_everything",
        "batch",
        "I simulate a batch of 4096 with accumulation like the large labs do. Validation hardly gets better from epoch to epoch.",
        "accumulation of 64 batches of 64: one step an epoch",
        by_settings(lambda folder: customers(folder) | {"optimizer.lr": 1e-3}, {"loop.accumulation": 64}),
        ("batch too large", "too few epochs"),
        (
            Fix("less accumulation", {"loop.accumulation": between(1, 6)}),
            Fix("many more epochs", {"loop.epochs": between(120, 10**6)}),
        ),
        Harm("accuracy", 0.05),
    ),
    Case(
        "pairs_for_batch_norm",
        "batch",
        "Out of memory on my old card, so I went down to batches of 2. Training accuracy is poor, validation is all over the place.",
        "BatchNorm over batches of two images",
        by_settings(
            lambda folder: shapes(folder, each=100) | {"model.norm": "batch", "loop.epochs": 6},
            {"loop.batch_size": 2},
        ),
        ("batch too small",),
        (
            Fix("larger batches", {"loop.batch_size": between(8, 256)}),
            Fix("a norm of each sample", {"model.norm": one_of("group", "layer", "none")}),
        ),
        Harm("accuracy", 0.03),
    ),
    Case(
        "one_row_at_a_time",
        "batch",
        "Stochastic means one sample at a time, right? The loss of each step looks like noise, and it does not converge.",
        "batches of a single row at a learning rate for batches of 64",
        by_settings(
            lambda folder: (
                flowers(folder, 400)
                | {
                    "optimizer.kind": "sgd",
                    "optimizer.lr": 0.1,
                    "optimizer.momentum": 0.9,
                    "schedule.kind": "constant",
                    "loop.epochs": 4,
                }
            ),
            {"loop.batch_size": 1},
        ),
        ("batch too small", "learning rate too high"),
        (
            Fix("larger batches", {"loop.batch_size": between(16, 256)}),
            Fix("a far lower rate", {"optimizer.lr": between(1e-5, 5e-3)}),
        ),
        Harm("loss", 0.06),
    ),
)

CASES = (*EPOCHS, *RATES, *OPTIMIZERS, *BATCHES)
