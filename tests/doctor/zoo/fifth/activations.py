"""Activations that are wrong, missing or stuck, in networks of people's own."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, by_network
from tests.doctor.zoo.draws import write_table
from tests.doctor.zoo.edit import edit
from tests.doctor.zoo.fifth.data import balances, bikes, loans
from tests.doctor.zoo.fifth.networks import CNN, CONV1D, MLP, NET
from tests.doctor.zoo.fifth.pictures import cells, digits, waves


def _rings(folder: Path) -> Settings:
    """Three circles, one inside the other, in two columns among which no line parts them."""
    draws = np.random.default_rng(5)
    ring = draws.integers(0, 3, 1500)
    radius, angle = 1.0 + ring + draws.normal(0, 0.16, 1500), draws.uniform(0, 6.283, 1500)
    columns = {
        "easting": 40 + 12 * radius * np.cos(angle),
        "northing": -8 + 12 * radius * np.sin(angle),
        "zone": np.array(["inner", "middle", "outer"])[ring],
    }
    write_table(folder / "zones.csv", columns)
    return {
        "dataset.kind": "table",
        "dataset.path": "zones.csv",
        "dataset.targets": ["zone"],
        "loop.epochs": 25,
        "loop.batch_size": 32,
        "optimizer.kind": "adam",
        "optimizer.lr": 5e-3,
        "schedule.kind": "cosine",
    }


def _digits_by_sgd(folder: Path) -> Settings:
    return digits(folder) | {"optimizer.kind": "sgd", "optimizer.lr": 0.05, "schedule.kind": "one_cycle"}


DEEP = '''"""Six hidden layers."""

from torch import nn


def build(features: int, outputs: int, width: int = 32, depth: int = 6) -> nn.Module:
    layers: list[nn.Module] = [nn.Linear(features, width), nn.ReLU()]
    for _ in range(depth - 1):
        layers += [nn.Linear(width, width), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(width, outputs))
'''

CASES = (
    Case(
        "digit_reader_softmax",
        "activation",
        "Ported from a Keras notebook: forward returns probabilities. The same network got 98 % there.",
        "forward of the own network returns a softmax, which the loss applies again.",
        by_network(
            _digits_by_sgd, edit(CNN, ("return self.head(x)", "return torch.softmax(self.head(x), dim=1)")), CNN
        ),
        ("softmax before a loss on logits",),
        (Fix("Return self.head(x) itself.", names=("softmax", "network.py", "Classifier")),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "loan_risk_sigmoid",
        "activation",
        "I want a probability of default, so the last layer is a sigmoid. AUROC looks fine but it says 'no' to nearly everyone.",
        "The own network ends in a sigmoid, and the loss (BCE with logits) applies it again.",
        by_network(
            lambda folder: loans(folder, bias=-0.8),
            edit(NET, ("return self.out(x)", "return torch.sigmoid(self.out(x))")),
            NET,
        ),
        ("sigmoid before a loss on logits",),
        (Fix("Return the logit: take the sigmoid away.", names=("sigmoid", "network.py", "Net")),),
        Harm("loss", 0.1),
    ),
    Case(
        "balance_relu_output",
        "activation",
        "Every layer has its ReLU, as in the tutorial. Months in which people save are predicted well, the others all come out the same.",
        "A ReLU after the last layer of a regression: half of the standardized targets are below zero.",
        by_network(balances, edit(MLP, ("width, outputs),", "width, outputs),\n        nn.ReLU(),")), MLP),
        ("ReLU at the end of a regression",),
        (Fix("Take the last ReLU away.", names=("ReLU", "network.py")),),
        Harm("r2", 0.15),
    ),
    Case(
        "pump_relu_before_logits",
        "activation",
        "One of the four kinds of signals is never predicted, and which one changes with the seed.",
        "The scores of the classes pass a ReLU before the loss.",
        by_network(
            waves,
            edit(CONV1D, ("return self.head(found)", "return torch.relu(self.head(found))")),
            CONV1D,
        ),
        ("ReLU before the logits",),
        (Fix("Return the scores without a ReLU.", names=("relu", "network.py", "Signal")),),
        Harm("loss", 0.15),
    ),
    Case(
        "cell_count_tanh_output",
        "activation",
        "It counts up to some number of cells and then just stays there; crowded dishes are always too low, empty ones too high.",
        "A tanh at the end keeps the (standardized) number between -1 and 1.",
        by_network(
            cells,
            edit(CNN, ("return self.head(x)", "return torch.tanh(self.head(x))"), ("classes", "outputs")),
            edit(CNN, ("classes", "outputs")),
        ),
        ("bounded output",),
        (Fix("Take the tanh off the end.", names=("tanh", "network.py", "Classifier")),),
        Harm("r2", 0.05),
    ),
    Case(
        "zones_without_activation",
        "activation",
        "Four linear layers must be enough for three zones, but it is no better than guessing.",
        "No activation between the linear layers, which are one straight line together.",
        by_network(
            _rings,
            edit(NET, ("torch.relu(self.fc1(x))", "self.fc1(x)"), ("torch.relu(self.fc2(x))", "self.fc2(x)")),
            NET,
        ),
        ("no activation between layers",),
        (
            Fix(
                "Put an activation between the layers.", names=("activation", "relu", "network.py", "Net", "fc1", "fc2")
            ),
        ),
        Harm("accuracy", 0.3),
    ),
    Case(
        "rentals_deep_sigmoid",
        "activation",
        "I read that sigmoids are like neurons, and took six layers of them. The loss is a flat line.",
        "Six hidden layers of sigmoids, through which next to no gradient comes.",
        by_network(
            lambda folder: bikes(folder) | {"optimizer.kind": "sgd", "optimizer.lr": 0.05},
            edit(DEEP, ("nn.ReLU()", "nn.Sigmoid()")),
            DEEP,
        ),
        ("saturating activation",),
        (Fix("Use ReLU (or GELU, SiLU) between the layers.", names=("sigmoid", "network.py")),),
        Harm("r2", 0.3),
    ),
)
