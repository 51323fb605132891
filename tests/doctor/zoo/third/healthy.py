"""Runs with something odd that is no fault, and the presets."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from tests.doctor.zoo.case import Healthy, Settings
from tests.doctor.zoo.draws import take, write_table
from tests.doctor.zoo.edit import edit
from tests.doctor.zoo.first.presets import PRESETS
from tests.doctor.zoo.third.networks import DEEP, GRU, LENET, SEQUENCE
from tests.doctor.zoo.third.pictures import cells, leaves, letters, recipes, vibrations
from tests.doctor.zoo.third.tables import (
    Base,
    adam,
    arm,
    changed,
    draw_concrete,
    draw_hearts,
    draw_minerals,
    flights,
    heating,
    table,
)


def own(base: Base, network: str, settings: Settings | None = None) -> Base:
    """``base`` with a network of one's own."""

    def write(folder: Path) -> Settings:
        kept = {name: value for name, value in base(folder).items() if not name.startswith("model.")}
        (folder / "network.py").write_text(network)
        return kept | {"model.kind": "user_file", "model.path": "network.py"} | (settings or {})

    return write


SINES = edit(
    DEEP,
    (
        "        self.act = nn.ReLU()\n",
        "        self.act = torch.sin\n        nn.init.uniform_(self.first.weight, -1.0, 1.0)\n",
    ),
    ("40, 4)", "48, 1)"),
)
GATED = edit(
    LENET,
    (
        "            nn.Flatten(),\n",
        "            Gate(16),\n            nn.Flatten(),\n",
    ),
    (
        "class LeNet",
        "class Gate(nn.Module):\n    def __init__(self, channels):\n        super().__init__()\n"
        "        self.squeeze = nn.Linear(channels, channels // 4)\n        self.excite = nn.Linear(channels // 4, channels)\n\n"
        "    def forward(self, x):\n        weights = torch.relu(self.squeeze(x.mean((2, 3))))\n"
        "        return x * torch.sigmoid(self.excite(weights))[:, :, None, None]\n\n\nclass LeNet",
    ),
)
BOUNDED = edit(
    SEQUENCE,
    ("import torch.nn as nn\n", "import torch\nimport torch.nn as nn\n"),
    (
        "def build",
        "class Within(nn.Module):\n    def __init__(self, most):\n        super().__init__()\n        self.most = most\n\n"
        "    def forward(self, x):\n        return self.most * torch.tanh(x / self.most)\n\n\ndef build",
    ),
    ("nn.Linear(width, classes),", "nn.Linear(width, classes),\n        Within(4.0),  # no hand is farther than that"),
)
SELUS = edit(
    DEEP,
    (
        "        self.act = nn.ReLU()\n",
        "        self.act = nn.SELU()\n        for layer in [self.first, *self.hidden]:\n"
        '            nn.init.kaiming_normal_(layer.weight, nonlinearity="linear")\n            nn.init.zeros_(layer.bias)\n',
    ),
    ("40, 4)", "32, 7)"),
)
LIKELY = edit(LENET, ("return self.net(images)", "return self.net(images).log_softmax(dim=1)"))
NLL = """from torch.nn import functional as F


def build():
    return lambda outputs, labels: F.nll_loss(outputs, labels)
"""


def likely(folder: Path) -> Settings:
    (folder / "loss.py").write_text(NLL)
    settings = own(partial(letters, each=320, seed=117), LIKELY)(folder)
    return settings | {"objective.kind": "user_loss", "objective.path": "loss.py", "objective.task": "classification"}


def gaps(folder: Path) -> Settings:
    """Some numbers are missing, and rows have a number and a name."""
    columns = draw_concrete(2600, 112)
    draws = np.random.default_rng(112)
    slag = np.array([f"{value:.2f}" for value in columns["slag"]], dtype=object)
    slag[draws.random(2600) < 0.08] = ""
    names = [f"{draws.choice(['cube', 'beam', 'core'])}-{number:05}" for number in range(2600)]
    write_table(folder / "concrete.csv", {"specimen": names, **columns, "slag": slag})
    return {
        "dataset.kind": "table",
        "dataset.path": "concrete.csv",
        "dataset.targets": ["strength"],
        "dataset.ignored": ["specimen"],
        "dataset.missing_indicator": True,
        "model.kind": "tabular",
        "model.hidden": [32, 32],
        "objective.kind": "regression",
        "loop.epochs": 20,
        "loop.batch_size": 64,
        **adam(2e-3),
    }


def uneven(folder: Path) -> Settings:
    """Some minerals are rare, and easily told all the same."""
    columns = draw_minerals(7000, 113)
    draws = np.random.default_rng(113)
    kinds = np.unique(columns["mineral"])
    share = dict(zip(kinds, (1.0, 0.7, 0.45, 0.3, 0.2), strict=True))
    kept = draws.random(7000) < np.array([share[kind] for kind in columns["mineral"]])
    settings = table(folder, "minerals", take(columns, kept), "mineral")
    return {
        **settings,
        "model.kind": "mlp",
        "model.hidden": [32, 32],
        "loop.epochs": 15,
        "loop.batch_size": 64,
        **adam(2e-3),
    }


def hardly_known(folder: Path) -> Settings:
    """Two of three can be told, and no more."""
    return {
        **table(folder, "hearts", draw_hearts(6000, 111, sharpness=0.45), "disease"),
        "model.kind": "tabular",
        "model.hidden": [8],
        "objective.kind": "binary",
        "loop.epochs": 10,
        "loop.batch_size": 128,
        **adam(2e-3),
    }


RUNS = (
    Healthy(
        "two_of_three_and_no_more",
        "Accuracy is 68 %, and stays there. Doctors do no better.",
        "a low score of data that tells no more",
        hardly_known,
        "accuracy",
        0.62,
    ),
    Healthy(
        "one_cycle_of_sgd_to_a_tenth",
        "SGD up to 0.1 by one-cycle, with batch norm.",
        "a high rate, and a loss that wobbles in the middle",
        changed(
            partial(letters, each=340, seed=114),
            {"model.norm": "batch", "optimizer.kind": "sgd", "optimizer.lr": 0.1, "schedule.kind": "one_cycle"},
        ),
        "accuracy",
        0.97,
    ),
    Healthy(
        "three_ten_thousandths_for_long",
        "A small rate and many epochs; I am in no hurry.",
        "a small learning rate, long enough",
        changed(
            partial(vibrations, count=2200, seed=115), {"optimizer.lr": 3e-4, "loop.epochs": 40, "loop.batch_size": 16}
        ),
        "accuracy",
        0.97,
    ),
    Healthy(
        "eight_poses_at_a_time",
        "Batches of eight, at a rate to match.",
        "small batches, and a noisy training loss",
        changed(partial(arm, count=2600, seed=116), {"loop.batch_size": 8, "optimizer.lr": 5e-4, "loop.epochs": 15}),
        "r2",
        0.98,
    ),
    Healthy(
        "log_likelihood_by_hand",
        "log_softmax at the end, and nll_loss as my own loss.",
        "a log_softmax in the network, which its loss asks for",
        likely,
        "accuracy",
        0.97,
    ),
    Healthy(
        "arm_by_sines",
        "Sine waves for activations, as in SIREN.",
        "an activation that hardly anybody uses",
        own(partial(arm, count=3200, seed=118), SINES, {"optimizer.lr": 1e-3}),
        "r2",
        0.98,
    ),
    Healthy(
        "gates_of_sigmoids",
        "Squeeze and excitation between the convolutions and the rest.",
        "a sigmoid in the network, which is a gate",
        own(partial(letters, each=330, seed=119, kinds=7), GATED),
        "accuracy",
        0.97,
    ),
    Healthy(
        "hand_within_reach",
        "No hand can be farther than the arm is long, so I bound the answer, softly and generously.",
        "tanh at the end of a regression, far beyond its targets",
        own(partial(arm, count=3000, seed=120), BOUNDED),
        "r2",
        0.98,
    ),
    Healthy(
        "nine_layers_of_selu",
        "A deep network that needs no norm, initialized as its authors say.",
        "many layers for a table, which do learn",
        own(partial(heating, count=3400, seed=121), SELUS, {"optimizer.lr": 1e-3}),
        "r2",
        0.97,
    ),
    Healthy(
        "missing_slag",
        "Eight in a hundred have no slag written down. The name of the specimen is left out.",
        "missing values, marked as such, and a column that names each row, ignored",
        gaps,
        "r2",
        0.9,
    ),
    Healthy(
        "garnets_are_rare",
        "There is far more calcite than quartz in my collection.",
        "uneven classes that are told apart all the same",
        uneven,
        "f1",
        0.85,
    ),
    Healthy(
        "leaves_in_any_weather",
        "Flips, turns and colors: the training loss is above the validation loss all the time.",
        "validation better than training, by augmentation",
        changed(
            partial(leaves, each=420, seed=122),
            {"dataset.flip": True, "dataset.rotation": 15.0, "dataset.brightness": 0.3, "loop.epochs": 12},
        ),
        "accuracy",
        0.93,
    ),
    Healthy(
        "cells_by_dice",
        "Dice loss, which does not look like a cross-entropy.",
        "another loss, whose values say little",
        changed(partial(cells, count=140, seed=123), {"objective.loss": "dice", "optimizer.lr": 2e-3}),
        "mean_iou",
        0.93,
    ),
    Healthy(
        "a_moving_average_of_letters",
        "A moving average of the weights is validated.",
        "EMA, of a decay that suits the number of steps",
        changed(partial(letters, each=320, seed=124, kinds=8), {"loop.ema_decay": 0.95, "optimizer.kind": "nadam"}),
        "accuracy",
        0.97,
    ),
    Healthy(
        "rises_for_a_fifth",
        "Warm-up for a fifth, then stable, then down in the last third.",
        "a long warm-up, and a loss that falls most at the end",
        changed(
            partial(recipes, count=1300, seed=125),
            {
                "loop.epochs": 6,
                "schedule.kind": "wsd",
                "schedule.warmup": "20 %",
                "schedule.decay_fraction": 0.35,
                "model.dropout": 0.05,
            },
        ),
        "loss",
        0.6,
    ),
    Healthy(
        "one_glance_at_clouds",
        "Clouds of points, far apart. After an epoch all are right.",
        "a perfect score, of an easy problem",
        lambda _: {
            "dataset.kind": "blobs",
            "dataset.samples": 2400,
            "dataset.features": 8,
            "dataset.classes": 4,
            "model.kind": "mlp",
            "model.hidden": [16],
            "loop.epochs": 8,
            "loop.batch_size": 64,
            **adam(3e-3),
        },
        "accuracy",
        0.98,
    ),
    Healthy(
        "four_times_sixteen_flights",
        "Four batches of sixteen searches make a step.",
        "gradient accumulation, with steps enough",
        changed(
            partial(flights, queries=1600, seed=126),
            {"loop.batch_size": 16, "loop.accumulation": 4, "optimizer.lr": 5e-3, "loop.epochs": 25},
        ),
        "ndcg",
        0.96,
    ),
    Healthy(
        "letters_one_after_another",
        "A recurrent network, clipped at 0.5 and by RMSprop, as one did ten years ago.",
        "an old optimizer, and many clipped steps at first",
        own(
            partial(recipes, count=1300, seed=127),
            GRU,
            {"optimizer.kind": "rmsprop", "optimizer.lr": 2e-3, "loop.clip_norm": 0.5, "loop.epochs": 6},
        ),
        "loss",
        0.6,
    ),
)

CASES = (*RUNS, *(replace(preset, name=f"{preset.name}_to_be_judged") for preset in PRESETS))
