"""Learning rates, optimizers and batches."""

from __future__ import annotations

from tests.doctor.zoo.case import Case, Fix, Harm, between, by_settings, one_of
from tests.doctor.zoo.second import data

ADAMS = one_of("adam", "adamw", "nadam", "radam")

CASES = (
    Case(
        "diary_rate_of_a_third",
        "learning rate",
        "My small GPT on a diary writes nothing but one letter.",
        "AdamW at 0.3",
        by_settings(data.diary, {"optimizer.lr": 0.3}),
        ("learning rate too high",),
        (Fix("a lower rate", {"optimizer.lr": between(3e-3, 4e-2)}),),
        Harm("loss", 0.5),
    ),
    Case(
        "bikes_rate_of_a_half",
        "learning rate",
        "I wanted to be quick about the bicycles, and set the rate to 0.5.",
        "AdamW at 0.5",
        by_settings(data.bikes, {"optimizer.lr": 0.5}),
        ("learning rate too high",),
        (Fix("a lower rate", {"optimizer.lr": between(3e-3, 4e-2)}),),
        Harm("r2", 0.1),
    ),
    Case(
        "letters_by_sgd_at_two",
        "learning rate",
        "SGD wants larger rates than Adam, I read.",
        "SGD with momentum at 2",
        by_settings(
            lambda folder: data.glyphs(folder) | {"optimizer.kind": "sgd", "optimizer.lr": 0.05},
            {"optimizer.lr": 2.0},
        ),
        ("learning rate too high",),
        (
            Fix("a lower rate", {"optimizer.lr": between(0.01, 0.2), "optimizer.kind": one_of("sgd")}),
            Fix("Adam at its rate", {"optimizer.kind": ADAMS, "optimizer.lr": between(5e-4, 1e-2)}),
        ),
        Harm("accuracy", 0.1),
    ),
    Case(
        "hotels_hardly_sorted",
        "learning rate",
        "To be on the safe side I train with a rate of 0.000002. The hotels that people choose are anywhere in the list.",
        "AdamW at 2e-6 for fifteen epochs",
        by_settings(data.hotels, {"optimizer.lr": 2e-6}),
        ("learning rate too low",),
        (Fix("a higher rate", {"optimizer.lr": between(1e-3, 3e-2)}),),
        Harm("ndcg", 0.05),
    ),
    Case(
        "roads_at_a_crawl",
        "learning rate",
        "I took the rate over from fine-tuning a large network; here it starts from nothing.",
        "AdamW at 2e-5 for ten epochs",
        by_settings(data.roads, {"optimizer.lr": 2e-5}),
        ("learning rate too low",),
        (Fix("a higher rate", {"optimizer.lr": between(8e-4, 5e-2)}),),
        Harm("mean_iou", 0.2),
    ),
    Case(
        "gauges_at_a_crawl",
        "learning rate",
        "A larger network is said to need a lower rate.",
        "Adam at 5e-6, of a larger network",
        by_settings(
            lambda folder: (
                data.dials(folder)
                | {"model.channels": [24, 48], "model.hidden": 128, "optimizer.kind": "adam", "optimizer.lr": 2e-3}
            ),
            {"optimizer.lr": 3e-6},
        ),
        ("learning rate too low",),
        (Fix("a higher rate", {"optimizer.lr": between(2e-4, 2e-2)}),),
        Harm("r2", 0.3),
    ),
    Case(
        "diary_by_plain_sgd",
        "optimizer",
        "I train a GPT with the optimizer that I know from school.",
        "SGD without momentum for a transformer",
        by_settings(
            data.diary,
            {"optimizer.kind": "sgd", "optimizer.lr": 0.01, "optimizer.momentum": 0.0, "optimizer.nesterov": False},
        ),
        ("unsuitable optimizer", "learning rate too low", "optimizer settings"),
        (
            Fix(
                "Adam",
                {
                    "optimizer.kind": one_of("adam", "adamw", "nadam", "radam", "rmsprop"),
                    "optimizer.lr": between(3e-3, 3e-2),
                },
            ),
            Fix("a far higher rate", {"optimizer.kind": one_of("sgd"), "optimizer.lr": between(0.8, 2.0)}),
            Fix("Muon", {"optimizer.kind": one_of("muon"), "optimizer.lr": between(8e-3, 5e-2)}),
        ),
        Harm("loss", 0.5),
    ),
    Case(
        "betas_the_wrong_way_round",
        "optimizer",
        "I typed the betas from memory.",
        "betas 0.999 and 0.9",
        by_settings(lambda folder: data.grains(folder) | {"optimizer.lr": 1e-2}, {"optimizer.betas": [0.999, 0.9]}),
        ("optimizer settings",),
        (
            Fix(
                "0.9 and 0.999",
                {"optimizer.betas": lambda pair: pair is not None and pair[0] <= 0.95 and 0.95 <= pair[1] <= 0.9999},
            ),
        ),
        Harm("loss", 0.12),
    ),
    Case(
        "adagrad_decays_at_once",
        "optimizer",
        "Adagrad has a setting lr_decay, and decay is good, isn't it?",
        "Adagrad with lr_decay of 0.5",
        by_settings(
            lambda folder: (
                {name: value for name, value in data.genres(folder).items() if name != "optimizer.lr"}
                | {"optimizer.kind": "adagrad", "optimizer.lr": 0.05, "schedule.kind": "constant"}
            ),
            {"optimizer.lr_decay": 0.5},
        ),
        ("optimizer settings",),
        (
            Fix("no decay", {"optimizer.lr_decay": between(0.0, 1e-3), "optimizer.kind": one_of("adagrad")}),
            Fix("Adam", {"optimizer.kind": ADAMS, "optimizer.lr": between(1e-3, 3e-2)}),
        ),
        Harm("f1", 0.1),
    ),
    Case(
        "frozen_without_pretraining",
        "optimizer",
        "As in the tutorial on fine-tuning I freeze the first stages. My network is new, though.",
        "the first stages of a random network frozen",
        by_settings(data.dials, {"optimizer.freeze": "all_but_head"}),
        ("frozen layers",),
        (
            Fix("freeze nothing", {"optimizer.freeze": one_of("off")}),
            Fix("unfreeze soon", {"optimizer.unfreeze_epoch": between(1, 4)}),
        ),
        Harm("r2", 0.02),
    ),
    Case(
        "first_layers_all_but_frozen",
        "optimizer",
        "Rates that fall from layer to layer made my fine-tuning better, so I took them over for a network from nothing.",
        "a layer decay of 0.02 for a network with random weights",
        by_settings(
            lambda folder: data.diary(folder) | {"model.layers": 3},
            {"optimizer.layer_decay": 0.02},
        ),
        ("optimizer settings", "frozen layers", "learning rate too low"),
        (Fix("no decay", {"optimizer.layer_decay": between(0.6, 1.0)}),),
        Harm("loss", 0.1),
    ),
    Case(
        "letters_in_one_batch",
        "batch",
        "Larger batches are quicker, so I take all images at once.",
        "five epochs of one batch each",
        by_settings(lambda folder: data.glyphs(folder) | {"loop.epochs": 5}, {"loop.batch_size": 1600}),
        ("batch too large",),
        (
            Fix("smaller batches", {"loop.batch_size": between(4, 128)}),
            Fix("many more epochs", {"loop.epochs": between(100, 5000)}),
        ),
        Harm("accuracy", 0.2),
    ),
    Case(
        "genres_accumulate_an_epoch",
        "batch",
        "Gradient accumulation simulates a large batch, which is good for everything.",
        "one step an epoch, by accumulation",
        by_settings(data.genres, {"loop.accumulation": 40}),
        ("batch too large",),
        (
            Fix("less accumulation", {"loop.accumulation": between(1, 4)}),
            Fix("many more epochs", {"loop.epochs": between(300, 10000)}),
        ),
        Harm("f1", 0.1),
    ),
    Case(
        "bikes_one_by_one",
        "batch",
        "I read that small batches generalize best, and one is the smallest.",
        "batches of one sample at a rate for thirty-two",
        by_settings(
            lambda folder: (
                data.bikes(folder, count=1500)
                | {"optimizer.kind": "sgd", "optimizer.lr": 0.1, "loop.batch_size": 32, "loop.epochs": 20}
            ),
            {"loop.batch_size": 1},
        ),
        ("batch too small", "learning rate too high"),
        (
            Fix("larger batches", {"loop.batch_size": between(8, 64)}),
            Fix("accumulation", {"loop.accumulation": between(8, 64)}),
        ),
        Harm("r2", 0.05),
    ),
    Case(
        "norm_over_two_loans",
        "batch",
        "Batch norm made my network better on the large machine. Here only two rows fit, I thought.",
        "batch normalization over two rows",
        by_settings(
            lambda folder: (
                data.loans(folder, count=1500) | {"model.norm": "batch", "loop.batch_size": 32, "loop.epochs": 12}
            ),
            {"loop.batch_size": 2},
        ),
        ("batch too small",),
        (
            Fix("larger batches", {"loop.batch_size": between(8, 100)}),
            Fix("no batch norm", {"model.norm": one_of("none")}),
        ),
        Harm("loss", 0.04),
    ),
)
