"""How large a network is, how strongly it is held back, and what its weights begin with."""

from __future__ import annotations

from pathlib import Path

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, between, by_network, by_settings, one_of
from tests.doctor.zoo.second import data
from tests.doctor.zoo.second.networks import CONV, DEEP, DENSE, swap


def many_grains(folder: Path) -> Settings:
    return data.grains(folder, count=9000) | {"loop.epochs": 8, "optimizer.lr": 2e-3}


CASES = (
    Case(
        "two_units_for_twelve_grains",
        "layers",
        "A small network is quick: two units, and then twelve classes.",
        "a layer of two units before twelve classes",
        by_settings(lambda folder: data.grains(folder, count=5000, kinds=12, spread=0.8), {"model.hidden": [64, 2]}),
        ("too few neurons",),
        (Fix("more units", {"model.hidden": lambda value: bool(value) and min(value) >= 16}),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "thirty_layers_for_grains",
        "layers",
        "Deep learning is deep, so I took thirty layers.",
        "thirty layers without shortcuts or normalization",
        by_settings(data.grains, {"model.hidden": [64] * 30}),
        ("superfluous layers",),
        (
            Fix("batch norm", {"model.norm": one_of("batch")}),
            Fix("fewer layers", {"model.hidden": lambda value: bool(value) and len(value) <= 10 and min(value) >= 16}),
        ),
        Harm("accuracy", 0.2),
    ),
    Case(
        "diary_mostly_dropped",
        "regularization",
        "Dropout is against overfitting, and I am very much against overfitting.",
        "dropout of 0.8 in a small GPT",
        by_settings(data.diary, {"model.dropout": 0.8}),
        ("regularization too strong",),
        (Fix("less dropout", {"model.dropout": between(0.0, 0.3)}),),
        Harm("loss", 0.3),
    ),
    Case(
        "gauges_decay_to_nothing",
        "regularization",
        "Weight decay of 1, as I had it with AdamW.",
        "Adam with L2 of 1",
        by_settings(
            lambda folder: data.dials(folder) | {"optimizer.kind": "adam", "optimizer.weight_decay": 0.0},
            {"optimizer.weight_decay": 1.0},
        ),
        ("regularization too strong",),
        (
            Fix("less decay", {"optimizer.weight_decay": between(0.0, 0.1)}),
            Fix("decoupled", {"optimizer.kind": one_of("adamw"), "optimizer.weight_decay": between(0.0, 1.0)}),
        ),
        Harm("r2", 0.1),
    ),
    Case(
        "letters_beyond_recognition",
        "regularization",
        "I switched on all augmentation that there is, at full strength.",
        "ten operations of RandAugment at magnitude 30, with erasing and MixUp",
        by_settings(
            data.glyphs,
            {
                "dataset.auto_augment": "rand_augment",
                "dataset.rand_augment_num_ops": 10,
                "dataset.rand_augment_magnitude": 30,
                "dataset.erasing": 1.0,
            },
        ),
        ("regularization too strong", "augmentation changes the label"),
        (
            Fix("no policy", {"dataset.auto_augment": one_of("none"), "dataset.erasing": between(0.0, 0.3)}),
            Fix(
                "a gentle policy",
                {"dataset.rand_augment_num_ops": between(1, 2), "dataset.rand_augment_magnitude": between(0, 10)},
            ),
            Fix("no policy alone", {"dataset.auto_augment": one_of("none")}),
        ),
        Harm("accuracy", 0.1),
    ),
    Case(
        "all_filters_the_same",
        "initialization",
        "For reproducible results I set all weights to 0.05.",
        "constant initial weights of a convolutional network",
        by_network(
            data.glyphs,
            swap(
                CONV,
                (
                    "    return LeNet(channels, image_size, classes)",
                    "    network = LeNet(channels, image_size, classes)\n    for weight in network.parameters():\n"
                    "        nn.init.constant_(weight, 0.05)\n    return network",
                ),
            ),
            CONV,
        ),
        ("symmetric initialization",),
        (Fix("random weights", names=("constant_", "network.py")),),
        Harm("accuracy", 0.2),
    ),
    Case(
        "begins_with_zeros",
        "initialization",
        "A network that knows nothing has zeros for weights.",
        "all weights zero",
        by_network(
            data.grains,
            swap(
                DENSE,
                (
                    "    return Net(features, outputs)",
                    "    network = Net(features, outputs)\n    for weight in network.parameters():\n"
                    "        nn.init.zeros_(weight)\n    return network",
                ),
            ),
            DENSE,
        ),
        ("symmetric initialization", "dead initialization", "initialization too small"),
        (Fix("random weights", names=("zeros_", "network.py")),),
        Harm("accuracy", 0.3),
    ),
    Case(
        "begins_with_a_roar",
        "initialization",
        "Weights are drawn from a normal distribution, it said; I took its usual one.",
        "weights of standard deviation 1 in eight layers",
        by_network(
            many_grains,
            swap(
                DEEP, ('nn.init.kaiming_normal_(module.weight, nonlinearity="relu")', "nn.init.normal_(module.weight)")
            ),
            DEEP,
        ),
        ("initialization too large",),
        (Fix("Kaiming's standard deviation", names=("normal_", "network.py")),),
        Harm("loss", 0.3),
    ),
    Case(
        "begins_with_a_whisper",
        "initialization",
        "Small weights are stable weights: a standard deviation of 0.001.",
        "weights of standard deviation 0.001 in eight layers",
        by_network(
            many_grains,
            swap(
                DEEP,
                (
                    'nn.init.kaiming_normal_(module.weight, nonlinearity="relu")',
                    "nn.init.normal_(module.weight, std=0.001)",
                ),
            ),
            DEEP,
        ),
        ("initialization too small",),
        (Fix("Kaiming's standard deviation", names=("normal_", "network.py")),),
        Harm("accuracy", 0.2),
    ),
)
