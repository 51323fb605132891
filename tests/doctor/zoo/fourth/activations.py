"""Activations that are too many, too few or of the wrong sort."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, by_network
from tests.doctor.zoo.fourth.data import minerals, pieces, points, songs, swings, trains
from tests.doctor.zoo.fourth.networks import convolutions, linear, perceptron, pictures


def _heat(folder: Path, seed: int, count: int) -> Settings:
    """Temperatures of a furnace by its eight settings, in an npz file."""
    draws = np.random.default_rng(seed)
    x = draws.normal(0, 1, (count, 8))
    y = (
        650
        + 90 * x[:, 0]
        + 60 * x[:, 1] * x[:, 2]
        + 45 * np.sin(1.5 * x[:, 3])
        + 40 * x[:, 4]
        + draws.normal(0, 15, count)
    )
    np.savez(folder / "furnace.npz", x=x.astype(np.float32), y=y.astype(np.float32)[:, None])
    return {
        "dataset.kind": "npz",
        "dataset.path": "furnace.npz",
        "dataset.task": "values",
        "objective.kind": "regression",
        "loop.epochs": 30,
        "loop.batch_size": 32,
        "optimizer.kind": "adamw",
        "optimizer.lr": 3e-3,
        "schedule.kind": "cosine",
    }


def _trains(folder: Path) -> Settings:
    settings = trains(folder, 2400, 8)
    return settings | {"optimizer.kind": "adam"}


SOFTMAX_MINERALS = Case(
    "quartz_already_a_probability",
    "activation",
    "My minerals are told apart, but the loss stays near 1 and I do not know why.",
    "nn.Softmax at the end of the network, before cross-entropy",
    by_network(
        lambda folder: minerals(folder, 2000, 1),
        perceptron(*linear(48, last="nn.Softmax(dim=1)")),
        perceptron(*linear(48)),
    ),
    ("softmax before a loss on logits",),
    (Fix("Leave the softmax out.", names=("softmax",)),),
    Harm("loss", 0.3),
)
SIGMOID_TRAINS = Case(
    "late_trains_squashed_twice",
    "activation",
    "The network says with 60 % that a train is late, at most with 70 %.",
    "a sigmoid in the network, before BCEWithLogitsLoss",
    by_network(
        _trains,
        perceptron(*linear(32, last="nn.Sigmoid()")),
        perceptron(*linear(32)),
    ),
    ("sigmoid before a loss on logits",),
    (Fix("Leave the sigmoid out.", names=("sigmoid",)),),
    Harm("loss", 0.15),
)
SOFTMAX_SONGS = Case(
    "one_mood_per_song",
    "activation",
    "A song may be calm and sad, but mine never gets two labels.",
    "softmax at the end of a network for several labels at once, whose loss takes logits",
    by_network(
        lambda folder: songs(folder, 2400, 2),
        perceptron(*linear(64, "nn.GELU()", last="nn.Softmax(dim=-1)")),
        perceptron(*linear(64, "nn.GELU()")),
    ),
    ("softmax before a loss on logits",),
    (Fix("Leave the softmax out.", names=("softmax",)),),
    Harm("f1", 0.15),
)
RELU_FURNACE = Case(
    "furnace_never_below_average",
    "activation",
    "Half of the furnaces are predicted at exactly the mean.",
    "a ReLU at the end of a regression of standardized values",
    by_network(
        lambda folder: _heat(folder, 21, 1800), perceptron(*linear(64, last="nn.ReLU()")), perceptron(*linear(64))
    ),
    ("ReLU at the end of a regression",),
    (Fix("Leave the last ReLU out.", names=("relu",)),),
    Harm("r2", 0.15),
)
TANH_SHARES = Case(
    "furnace_between_two_walls",
    "activation",
    "The hottest and the coldest furnaces all get the same temperature.",
    "a tanh at the end of a regression of standardized values",
    by_network(
        lambda folder: _heat(folder, 22, 2200), perceptron(*linear(64, last="nn.Tanh()")), perceptron(*linear(64))
    ),
    ("bounded output",),
    (Fix("Leave the tanh out.", names=("tanh",)),),
    Harm("r2", 0.03),
)
RELU_PIECES = Case(
    "logits_cut_at_zero",
    "activation",
    "I wrote relu after every layer, as in the course; some shapes are never predicted.",
    "a ReLU after the last layer, on the logits",
    by_network(
        lambda folder: pieces(folder, 200, 18, 11),
        pictures(last="torch.relu(x)"),
        pictures(),
    ),
    ("ReLU before the logits",),
    (Fix("Leave the last relu out.", names=("relu",)),),
    Harm("loss", 0.2),
)
RELU_TRAINS = Case(
    "never_surely_on_time",
    "activation",
    "No train gets less than one half.",
    "a ReLU on the only logit, which so is never negative",
    by_network(
        lambda folder: trains(folder, 2000, 9),
        perceptron(*linear(32, last="nn.ReLU()")),
        perceptron(*linear(32)),
    ),
    ("ReLU before the logits",),
    (Fix("Leave the last ReLU out.", names=("relu",)),),
    Harm("loss", 0.1),
)
LINEAR_SPIRAL = Case(
    "spiral_through_three_linears",
    "activation",
    "Three layers and still straight borders.",
    "no activation between the linear layers",
    by_network(
        lambda _: points("spiral", 3) | {"loop.epochs": 40},
        perceptron("nn.Linear(features, 64)", "nn.Linear(64, 64)", "nn.Linear(64, outputs)"),
        perceptron(*linear(64)),
    ),
    ("no activation between layers",),
    (Fix("Put an activation after each hidden layer.", names=("activation", "relu", "nonlinear", "non-linear")),),
    Harm("accuracy", 0.2),
)
LINEAR_SWINGS = Case(
    "filters_without_a_bend",
    "activation",
    "My convolutions cannot even tell fast from slow.",
    "no activation between the convolutions",
    by_network(
        lambda folder: swings(folder, 1500, 1),
        convolutions(activation=""),
        convolutions(),
    ),
    ("no activation between layers",),
    (Fix("Put an activation after each convolution.", names=("activation", "relu", "nonlinear", "non-linear")),),
    Harm("accuracy", 0.2),
)
SIGMOIDS = Case(
    "nine_logistic_layers",
    "activation",
    "Deeper must be better, but the loss does not move.",
    "nine hidden layers of sigmoids, in which gradients vanish",
    by_network(
        lambda folder: minerals(folder, 1800, 6, 4),
        perceptron(*linear(32, "nn.Sigmoid()", 9)),
        perceptron(*linear(32, "nn.ReLU()", 2)),
    ),
    ("saturating activation", "superfluous layers"),
    (
        Fix("Take ReLU, or fewer layers.", names=("sigmoid",)),
        Fix("Take fewer layers.", names=("fewer layers", "too deep")),
    ),
    Harm("accuracy", 0.3),
)
CASES = (
    SOFTMAX_MINERALS,
    SIGMOID_TRAINS,
    SOFTMAX_SONGS,
    RELU_FURNACE,
    TANH_SHARES,
    RELU_PIECES,
    RELU_TRAINS,
    LINEAR_SPIRAL,
    LINEAR_SWINGS,
    SIGMOIDS,
)
