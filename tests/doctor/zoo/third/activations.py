"""What a network ends in, and what stands between its layers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, by_network
from tests.doctor.zoo.edit import edit
from tests.doctor.zoo.third.networks import DEEP, GRU, LENET, PIXELS, SEQUENCE
from tests.doctor.zoo.third.pictures import CONV1D, cells, letters, recipes, vibrations
from tests.doctor.zoo.third.tables import Base, arm, changed, concrete, hearts, heating, minerals


def either(faulty: Base, sound: Base) -> Callable[[Path, bool], Settings]:
    """Two bases, of which the first has the fault."""
    return lambda folder, fault: (faulty if fault else sound)(folder)


LAST = "nn.Linear(width, classes),"
COSINE_HEAD = """import torch
from torch import nn
from torch.nn import functional as F


class CosineNet(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, 48), nn.ReLU(), nn.Linear(48, 32), nn.ReLU())
        self.prototypes = nn.Parameter(torch.randn(classes, 32))
        self.scale = 12.0

    def forward(self, x):
        cosine = F.linear(F.normalize(self.body(x)), F.normalize(self.prototypes))
        return self.scale * cosine


def build(features: int, classes: int):
    return CosineNet(features, classes)
"""

CASES = (
    Case(
        "minerals_as_probabilities",
        "activation",
        "I want probabilities, so the last layer is a softmax. The loss never falls below 0.9, although most minerals are right.",
        "nn.Softmax at the end, and a cross-entropy that does its own",
        by_network(
            partial(minerals, count=2600, seed=1),
            edit(SEQUENCE, (LAST, f"{LAST}\n        nn.Softmax(dim=1),")),
            SEQUENCE,
        ),
        ("softmax before a loss on logits",),
        (Fix("take the softmax out", names=("softmax", "Softmax")),),
        Harm("loss", 0.3),
    ),
    Case(
        "hearts_between_zero_and_one",
        "activation",
        "Sick or not: the network says a probability by torch.sigmoid. It trains, slowly, to a poor loss.",
        "sigmoid in forward, and a binary cross-entropy that does its own",
        by_network(
            partial(hearts, count=3200, seed=2),
            edit(DEEP, ("return self.last(x)", "return torch.sigmoid(self.last(x))"), ("40, 4)", "24, 1)")),
            edit(DEEP, ("40, 4)", "24, 1)")),
        ),
        ("sigmoid before a loss on logits",),
        (Fix("take the sigmoid out", names=("sigmoid",)),),
        Harm("loss", 0.1),
    ),
    Case(
        "cells_by_softmax2d",
        "activation",
        "My segmenter ends in softmax over the classes, as in the paper's figure. The cells are found but the loss stays high.",
        "softmax over the channels before a cross-entropy on logits",
        by_network(
            partial(cells, count=130, seed=4),
            edit(PIXELS, ("return scores", "return torch.softmax(scores, dim=1)")),
            PIXELS,
        ),
        ("softmax before a loss on logits",),
        (Fix("take the softmax out", names=("softmax",)),),
        Harm("loss", 0.15),
    ),
    Case(
        "next_character_as_probability",
        "activation",
        "A recurrent network for recipes. It writes gibberish, and the loss is stuck above 3.",
        "softmax at the end of a language model",
        by_network(
            partial(recipes, count=1100, seed=5),
            edit(GRU, ("return self.fc(out)", "return self.fc(out).softmax(dim=-1)")),
            GRU,
        ),
        ("softmax before a loss on logits",),
        (Fix("take the softmax out", names=("softmax",)),),
        Harm("loss", 0.5),
    ),
    Case(
        "arm_that_reaches_only_up",
        "activation",
        "Every layer of mine is Linear and ReLU, in a loop. Where the hand is below or behind, the answer is always the same.",
        "ReLU after the last layer of a regression whose targets have both signs",
        by_network(
            partial(arm, count=2800, seed=6),
            edit(SEQUENCE, (LAST, f"{LAST}\n        nn.ReLU(),")),
            SEQUENCE,
        ),
        ("ReLU at the end of a regression",),
        (Fix("no ReLU at the end", names=("relu", "ReLU")),),
        Harm("r2", 0.15),
    ),
    Case(
        "need_squeezed_by_tanh",
        "activation",
        "Heating demand of houses. The largest and the smallest houses are all far off.",
        "tanh at the end of a regression, so that no answer is beyond one standard deviation",
        by_network(
            partial(heating, count=2800, seed=7),
            edit(SEQUENCE, (LAST, f"{LAST}\n        nn.Tanh(),")),
            SEQUENCE,
        ),
        ("bounded output",),
        (Fix("no tanh at the end", names=("tanh", "Tanh")),),
        Harm("r2", 0.08),
    ),
    Case(
        "cosines_without_a_scale",
        "activation",
        "I compare the embedding with a prototype of each class by cosine. It tells minerals apart, but is never sure of anything.",
        "logits are cosines, so between -1 and 1, and the cross-entropy cannot fall",
        by_network(
            changed(partial(minerals, count=5000, seed=8, kinds=6), {"loop.epochs": 12, "optimizer.lr": 2e-3}),
            edit(COSINE_HEAD, ("self.scale = 12.0", "self.scale = 1.0")),
            COSINE_HEAD,
        ),
        ("bounded output",),
        (Fix("multiply the cosines by a scale", names=("cosine", "scale", "temperature", "normalize")),),
        Harm("loss", 0.4),
    ),
    Case(
        "scores_of_letters_cut_at_zero",
        "activation",
        "A CNN for letters, made by a helper that adds a ReLU to each layer. Some letters it never gets right.",
        "ReLU after the logits",
        by_network(
            partial(letters, each=260, seed=9),
            edit(
                LENET,
                ("nn.Linear(64, classes),", "nn.Linear(64, classes),\n            nn.ReLU(),"),
            ),
            LENET,
        ),
        ("ReLU before the logits",),
        (Fix("no ReLU after the last layer", names=("relu", "ReLU")),),
        Harm("loss", 0.15),
    ),
    Case(
        "convolutions_in_a_row",
        "activation",
        "Three layers, one after the other, as deep learning goes. It listens to machines no better than a coin.",
        "no activation anywhere between the layers",
        either(
            partial(
                vibrations,
                seed=10,
                network=edit(
                    CONV1D,
                    ("            nn.ReLU(),\n            nn.MaxPool1d(2),", "            nn.AvgPool1d(2),"),
                    ("            nn.ReLU(),\n", ""),
                ),
            ),
            partial(vibrations, seed=10),
        ),
        ("no activation between layers",),
        (Fix("put activations between the layers", names=("activation", "relu", "ReLU", "nonlinear", "non-linear")),),
        Harm("accuracy", 0.2),
    ),
    Case(
        "lenet_as_in_1998",
        "activation",
        "LeNet as in the old paper, with sigmoids. For all epochs it says the same letter.",
        "sigmoids after each layer, so hardly a gradient gets through",
        by_network(
            partial(letters, each=240, seed=11, kinds=8),
            LENET.replace("nn.ReLU()", "nn.Sigmoid()"),
            LENET,
        ),
        ("saturating activation",),
        (Fix("ReLU in place of the sigmoids", names=("sigmoid", "Sigmoid")),),
        Harm("accuracy", 0.3),
    ),
    Case(
        "eight_sigmoids_of_concrete",
        "activation",
        "A deep network for the strength of concrete. It predicts the mean for every sample.",
        "sigmoids in eight hidden layers",
        by_network(
            changed(
                partial(concrete, seed=12),
                {"loop.epochs": 25, "optimizer.kind": "sgd", "optimizer.lr": 0.03, "schedule.kind": "cosine"},
            ),
            edit(DEEP, ("nn.ReLU()", "nn.Sigmoid()"), ("40, 4)", "32, 7)")),
            edit(DEEP, ("40, 4)", "32, 7)")),
        ),
        ("saturating activation",),
        (Fix("ReLU in place of the sigmoids", names=("sigmoid", "Sigmoid")),),
        Harm("r2", 0.3),
    ),
)
