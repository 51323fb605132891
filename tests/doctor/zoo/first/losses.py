"""Losses that do not say what is wanted, and weights that begin where nothing is learned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, between, by_network, by_settings, one_of
from tests.doctor.zoo.draws import (
    ADAM,
    customers,
    draw_houses,
    flowers,
    houses,
    shapes,
    spiral,
    tagged,
    write_table,
)
from tests.doctor.zoo.edit import edit
from tests.doctor.zoo.first.networks import DEEP, MLP


def by_loss(base: Callable[[Path], Settings], task: str, faulty: str, sound: str) -> Callable[[Path, bool], Settings]:
    """A fault in the person's own loss: the text of its file with the fault, and without it."""

    def write(folder: Path, fault: bool) -> Settings:
        (folder / "loss.py").write_text(faulty if fault else sound)
        kept = {name: value for name, value in base(folder).items() if not name.startswith("objective.")}
        return kept | {"objective.kind": "user_loss", "objective.path": "loss.py", "objective.task": task}

    return write


LIKELIHOOD = """import torch
from torch.nn import functional as F


def negative_log_likelihood(outputs, targets):
    logs = F.log_softmax(outputs, dim=1)
    chosen = logs.gather(1, targets[:, None]).squeeze(1)
    return -chosen.mean()


def build():
    return negative_log_likelihood
"""

FOCAL = """import torch
from torch import nn
from torch.nn import functional as F


class FocalLoss(nn.Module):
    def __init__(self, gamma):
        super().__init__()
        self.gamma = gamma

    def forward(self, outputs, targets):
        loss = F.cross_entropy(outputs, targets, reduction="none")
        return ((1 - torch.exp(-loss)) ** self.gamma * loss).mean()


def build(gamma: float = 1.0):
    return FocalLoss(gamma)
"""

BINARY = """import torch
from torch.nn import functional as F


def tag_loss(outputs, targets):
    return F.binary_cross_entropy_with_logits(outputs, targets.float())


def build():
    return tag_loss
"""


def shapes_by_sgd(folder: Path) -> Settings:
    return shapes(folder) | {
        "optimizer.kind": "sgd",
        "optimizer.lr": 0.05,
        "optimizer.momentum": 0.9,
        "loop.clip_norm": 0.0,
    }


def rare_churn(folder: Path) -> Settings:
    return customers(folder) | {"objective.kind": "classification", "objective.class_weights": [1.0, 2.0]}


def wild_houses(folder: Path) -> Settings:
    """Two in a hundred prices have three zeros too many, as where somebody typed cents."""
    columns = draw_houses(1500)
    columns["price"] = np.where(np.random.default_rng(5).random(1500) < 0.02, columns["price"] * 1000, columns["price"])
    write_table(folder / "houses.csv", columns)
    return {**houses_settings(), "objective.loss": "l1"}


def houses_settings() -> Settings:
    return {
        "dataset.kind": "table",
        "dataset.path": "houses.csv",
        "dataset.targets": ["price"],
        "model.kind": "tabular",
        "model.hidden": [64, 64],
        "objective.kind": "regression",
        "loop.epochs": 30,
        "loop.batch_size": 64,
        **ADAM,
    }


def rain(folder: Path) -> Settings:
    """Millimeters of rain: none on most days, and on the others by the weather of the day before."""
    draws = np.random.default_rng(0)
    pressure, humidity, wind = draws.normal(0, 1, (3, 1500))
    wet = draws.random(1500) < 1 / (1 + np.exp(-(0.9 * humidity - 0.5 * pressure - 1.3)))
    amount = np.where(wet, np.exp(1.2 + 0.6 * humidity + 0.3 * wind + draws.normal(0, 0.3, 1500)), 0.0)
    columns = {
        "pressure": 1013 + 9 * pressure,
        "humidity": 65 + 12 * humidity,
        "wind": 12 + 4 * wind,
        "rain_mm": amount,
    }
    write_table(folder / "rain.csv", columns)
    return {**houses_settings(), "dataset.path": "rain.csv", "dataset.targets": ["rain_mm"], "objective.loss": "mse"}


LOSSES = (
    Case(
        "loss_without_minus",
        "loss",
        "I wrote my own negative log likelihood for learning purposes. The loss falls beautifully, to -400 by now, but accuracy is 0 %.",
        "the minus sign of the negative log likelihood is missing",
        by_loss(flowers, "classification", edit(LIKELIHOOD, ("return -chosen", "return chosen")), LIKELIHOOD),
        ("sign of the loss", "wrong loss"),
        (
            Fix("turn the sign", names=("sign", "minus", "negative")),
            Fix("cross-entropy", {"objective.kind": one_of("classification")}),
        ),
        Harm("accuracy", 0.3),
    ),
    Case(
        "focal_loss_of_probabilities",
        "loss",
        "A focal loss from a forum for my pictures. It works a little, but the normal loss gets 95 % and this one far less.",
        "softmax before cross_entropy, which applies it again",
        by_loss(
            shapes_by_sgd,
            "classification",
            edit(FOCAL, ("F.cross_entropy(outputs,", "F.cross_entropy(outputs.softmax(1),")),
            FOCAL,
        ),
        ("softmax before a loss on logits", "wrong loss"),
        (
            Fix("cross_entropy of the logits", names=("softmax",)),
            Fix("cross-entropy", {"objective.kind": one_of("classification")}),
        ),
        Harm("loss", 0.2),
    ),
    Case(
        "summed_loss_by_sgd",
        "loss",
        "My own loss for the tags. The first numbers are like 60 and then I get nan, with a rate that others use without trouble.",
        "reduction='sum': gradients are 96 times those of the mean, at the rate of the mean",
        by_loss(
            lambda folder: (
                tagged(folder)
                | {"optimizer.kind": "sgd", "optimizer.lr": 0.1, "optimizer.momentum": 0.9, "loop.clip_norm": 0.0}
            ),
            "multi_label",
            edit(BINARY, ("targets.float())", 'targets.float(), reduction="sum")')),
            BINARY,
        ),
        ("reduction of the loss", "learning rate too high"),
        (
            Fix("the mean over the batch", names=("sum", "mean", "reduction")),
            Fix("the built-in loss", {"objective.kind": one_of("multi_label")}),
            Fix("a far lower rate", {"optimizer.lr": between(1e-5, 4e-3)}),
        ),
        Harm("f1", 0.2),
    ),
    Case(
        "typing_errors_in_prices",
        "loss",
        "R2 is fine, they say, but the typical error is larger than the price of a house. Some prices in the export look odd.",
        "2 % of the prices are 1,000 times too large, and the squared error follows them",
        by_settings(wild_houses, {"objective.loss": "mse"}),
        ("outliers", "wrong loss"),
        (
            Fix("a loss that outliers pull less", {"objective.loss": one_of("l1", "huber")}),
            Fix("correct or leave out the wild rows", names=("price", "outlier")),
        ),
        Harm("mae", 50000),
    ),
    Case(
        "rain_is_never_predicted",
        "loss",
        "My model says 0.0 mm for almost every day. The absolute error is small, but it misses all the heavy rain.",
        "L1 of a target that is 0 on most days: its median is 0",
        by_settings(rain, {"objective.loss": "l1"}),
        ("wrong loss",),
        (Fix("a loss whose answer is the mean", {"objective.loss": one_of("mse", "huber", "weighted_sum")}),),
        Harm("r2", 0.08),
    ),
    Case(
        "weights_in_the_wrong_order",
        "loss",
        "Those who leave are what I look for, so I gave them more weight. Now the model finds even fewer of them.",
        "class weights 12, 1 belong to no, yes: those who stay count twelve times",
        by_settings(rare_churn, {"objective.class_weights": [12.0, 1.0]}),
        ("class weights",),
        (
            Fix(
                "weights the other way round",
                {
                    "objective.class_weights": lambda value: (
                        not value or (len(value) == 2 and value[1] >= 0.5 * value[0])
                    )
                },
            ),
            Fix("balanced", {"objective.balanced": one_of(True), "objective.class_weights": one_of((), [], None)}),
        ),
        Harm("f1", 0.08),
    ),
)

START = "        self.out = nn.Linear(64, classes)\n"
DEEP_START = "    return nn.Sequential(*layers, nn.Linear(width, classes))\n"


def many_flowers(folder: Path) -> Settings:
    return flowers(folder, kinds=8) | {"loop.epochs": 15}


def deep_spiral(folder: Path) -> Settings:
    return spiral(folder) | {"optimizer.lr": 3e-3, "loop.epochs": 30}


INITIALIZATION = (
    Case(
        "all_weights_alike",
        "initialization",
        "For reproducibility I start from the same weights every time: 0.1. It does not matter how wide I make the network.",
        "all weights begin at 0.1, so that the units of a layer stay alike",
        by_network(
            flowers,
            edit(
                MLP,
                (
                    START,
                    START + "        for p in self.parameters():\n            nn.init.constant_(p, 0.1)\n",
                ),
            ),
            MLP,
        ),
        ("symmetric initialization",),
        (Fix("random initial weights", names=("constant", "init", "symmetr")),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "weights_by_randn",
        "initialization",
        "I initialize with torch.randn like in the numpy tutorial. The loss starts at 100 and stays above that of guessing for long.",
        "weights from a normal distribution of std 1, without a factor for the width",
        by_network(
            many_flowers,
            edit(
                MLP,
                (
                    START,
                    START + "        for p in self.parameters():\n            p.data = torch.randn(p.shape)\n",
                ),
            ),
            MLP,
        ),
        ("initialization too large",),
        (Fix("initial weights by the width of a layer (Kaiming, Xavier)", names=("init",)),),
        Harm("loss", 0.5),
    ),
    Case(
        "tiny_weights_in_a_deep_network",
        "initialization",
        "std = 0.01 as in the AlexNet paper. The loss is exactly ln 3 from the first step to the last.",
        "weights of std 0.01 in eight layers: signal and gradient vanish",
        by_network(
            deep_spiral,
            edit(
                DEEP,
                (
                    DEEP_START,
                    "    net = nn.Sequential(*layers, nn.Linear(width, classes))\n    for m in net:\n"
                    "        if isinstance(m, nn.Linear):\n            nn.init.normal_(m.weight, std=0.01)\n"
                    "            nn.init.zeros_(m.bias)\n    return net\n",
                ),
            ),
            DEEP,
        ),
        ("initialization too small",),
        (Fix("initial weights by the width of a layer (Kaiming, Xavier)", names=("init",)),),
        Harm("accuracy", 0.2),
    ),
    Case(
        "born_dead",
        "initialization",
        "I set the bias to -6 because I want sparse activations. Now it predicts the same price for every house.",
        "biases of -6 before ReLU: no unit ever answers, and none gets a gradient",
        by_network(
            houses,
            edit(
                MLP,
                (
                    START,
                    START
                    + "        nn.init.constant_(self.fc1.bias, -6.0)\n        nn.init.constant_(self.fc2.bias, -6.0)\n",
                ),
            ),
            MLP,
        ),
        ("dead initialization",),
        (Fix("biases of about 0", names=("bias", "dead", "fc1", "fc2")),),
        Harm("r2", 0.3),
    ),
)

LAYERS = (
    Case(
        "one_hidden_unit",
        "layers",
        "A small table needs a small network: one hidden unit. Two of the eight species are recognized.",
        "a single unit in the first hidden layer, through which all has to pass",
        by_settings(lambda folder: flowers(folder, kinds=8), {"model.hidden": [1, 64]}),
        ("too few neurons",),
        (Fix("more units", {"model.hidden": lambda value: len(value) > 0 and min(value) >= 6}),),
        Harm("accuracy", 0.15),
    ),
    Case(
        "no_hidden_layer",
        "layers",
        "Logistic regression is said to be hard to beat, so I left the hidden layers empty. The spiral stays at 50 %.",
        "no hidden layer at all: a linear model of data that no line separates",
        by_settings(spiral, {"model.hidden": []}),
        ("missing layers",),
        (Fix("hidden layers", {"model.hidden": lambda value: len(value) >= 1 and min(value) >= 8}),),
        Harm("accuracy", 0.2),
    ),
    Case(
        "forty_layers",
        "layers",
        "Deep learning is called deep for a reason. Forty layers of 32 units, ReLU, and the loss does not move.",
        "forty layers without normalization or residual connections",
        by_settings(lambda folder: flowers(folder) | {"model.kind": "mlp"}, {"model.hidden": [32] * 40}),
        ("superfluous layers",),
        (
            Fix("far fewer layers", {"model.hidden": lambda value: 1 <= len(value) <= 10}),
            Fix("residual connections", {"model.kind": one_of("tabular"), "model.residual": one_of(True)}),
            Fix("normalization", {"model.norm": one_of("batch", "layer", "group")}),
        ),
        Harm("accuracy", 0.2),
    ),
)

CASES = (*LOSSES, *INITIALIZATION, *LAYERS)
