"""Runs without a fault, each with something that might be taken for one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from tests.doctor.zoo.case import Healthy, Settings, by_network
from tests.doctor.zoo.draws import write_table
from tests.doctor.zoo.first.presets import PRESETS
from tests.doctor.zoo.fourth.data import (
    COSINE,
    cells,
    concrete,
    draw_concrete,
    minerals,
    pieces,
    points,
    songs,
    stories,
    swings,
    trains,
)
from tests.doctor.zoo.fourth.networks import linear, perceptron, pictures
from tests.doctor.zoo.fourth.own import POOLED

WAVES = '''"""Waves that are drawn anew each time, as augmentation would."""

import random

import torch
from torch.utils.data import Dataset


class Waves(Dataset):
    classes = ["slow", "fast", "double"]

    def __init__(self, count):
        self.count = count
        self.time = torch.linspace(0, 6.28, 40)

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        label = index % 3
        start = 6.28 * random.random()
        wave = torch.sin((1.5 if label != 1 else 4) * self.time + start)
        if label == 2:
            wave = wave + torch.sin(4 * self.time + 6.28 * random.random())
        return (wave + 0.3 * torch.randn(40))[None], label


def build(split: str):
    return Waves(1500 if split == "train" else 600)
'''
LSTM = """import torch
from torch import nn


class Listener(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.cells = nn.GRU(4, 32, batch_first=True)
        self.gate = nn.Linear(32, 32)
        self.head = nn.Linear(32, classes)

    def forward(self, x):
        states, _ = self.cells(x.reshape(len(x), 12, 4))
        last = states[:, -1]
        return self.head(last * torch.sigmoid(self.gate(last)))


def build(classes: int):
    return Listener(classes)
"""


def _own(base: Callable[[Path], Settings], network: str) -> Callable[[Path], Settings]:
    write = by_network(base, network, network)
    return lambda folder: write(folder, False)


def _waves(folder: Path) -> Settings:
    (folder / "waves.py").write_text(WAVES)
    return {
        "dataset.kind": "user_dataset",
        "dataset.path": "waves.py",
        "loop.epochs": 8,
        "loop.batch_size": 32,
        **COSINE,
    }


def _log_cosh(folder: Path) -> Settings:
    draws = np.random.default_rng(91)
    x = draws.normal(0, 1, (1500, 7))
    y = 1.5 * np.sin(x[:, 0]) + x[:, 1] * x[:, 2] + 0.7 * x[:, 3] + draws.normal(0, 0.15, 1500)
    np.savez(folder / "tide.npz", x=x.astype(np.float32), y=y.astype(np.float32)[:, None])
    (folder / "loss.py").write_text(
        "import torch\nfrom torch.nn import functional\n\n\n"
        "def loss(outputs, targets):\n"
        "    error = outputs - targets\n"
        "    return (error + functional.softplus(-2 * error) - 0.6931471805599453).mean()\n\n\n"
        "def build():\n    return loss\n"
    )
    return {
        "dataset.kind": "npz",
        "dataset.path": "tide.npz",
        "dataset.task": "values",
        "model.kind": "mlp",
        "model.hidden": [48, 48],
        "objective.kind": "user_loss",
        "objective.path": "loss.py",
        "objective.task": "regression",
        "loop.epochs": 30,
        "loop.batch_size": 32,
        **COSINE,
    }


def _gaps(folder: Path) -> Settings:
    """Every tenth plasticizer was not written down, and the mixer does not matter."""
    settings = concrete(folder, 2000, 92)
    columns = draw_concrete(2000, 92)
    draws = np.random.default_rng(93)
    dosed = [f"{value:.2f}" if draws.random() > 0.1 else "" for value in columns["plasticizer"]]
    mixer = draws.choice(["A", "B", "C"], 2000, p=[0.9, 0.08, 0.02])
    write_table(folder / "concrete.csv", {"mixer": mixer} | columns | {"plasticizer": dosed})
    return settings | {"dataset.missing_indicator": True}


RUNS = (
    Healthy(
        "moons_that_touch",
        "Some points of the moons lie in the other one; nobody can do better than 92 %.",
        "validation accuracy stands still after two epochs, far from 100 %",
        lambda _: points("moons", 90, (24, 24), noise=0.28) | {"optimizer.lr": 3e-3, "loop.epochs": 15},
        "accuracy",
        0.88,
    ),
    Healthy(
        "gates_and_gru",
        "A GRU listens to a recording, four numbers at a time.",
        "a sigmoid inside of the network, which is a gate",
        _own(lambda folder: swings(folder, 1800, 91) | {"loop.epochs": 8, "optimizer.lr": 5e-3}, LSTM),
        "accuracy",
        0.93,
    ),
    Healthy(
        "weighted_moments",
        "Each moment of a recording gets a share.",
        "a softmax inside of the network, over time",
        _own(lambda folder: swings(folder, 1600, 92), POOLED.replace("SHARE", "torch.softmax(self.score(x), dim=2)")),
        "accuracy",
        0.95,
    ),
    Healthy(
        "waves_drawn_anew",
        "My Dataset draws its waves each time that it is asked.",
        "the same index is another sample in each epoch",
        _own(
            _waves,
            perceptron(
                "nn.Conv1d(1, 16, 7, padding=3)",
                "nn.SiLU()",
                "nn.Conv1d(16, 32, 5, stride=2, padding=2)",
                "nn.SiLU()",
                "nn.AdaptiveMaxPool1d(4)",
                "nn.Flatten()",
                "nn.Linear(128, classes)",
                parameters="classes: int",
            ),
        ),
        "accuracy",
        0.95,
    ),
    Healthy(
        "tide_by_log_cosh",
        "A loss between squares and absolute values.",
        "a loss of the person's own",
        _log_cosh,
        "r2",
        0.93,
    ),
    Healthy(
        "gaps_in_the_recipe",
        "The plasticizer is often missing, and one mixer made nearly everything.",
        "missing cells, and a column nearly constant",
        _gaps,
        "r2",
        0.9,
    ),
    Healthy(
        "shapes_turned_and_jittered",
        "Shapes stay what they are when they are mirrored, moved and brightened.",
        "training loss is above validation loss, by augmentation",
        lambda folder: (
            pieces(folder, 240, 18, 93, 4)
            | {
                "dataset.flip": True,
                "dataset.translate": 0.1,
                "dataset.brightness": 0.2,
                "dataset.contrast": 0.2,
                "loop.epochs": 16,
            }
        ),
        "accuracy",
        0.92,
    ),
    Healthy(
        "cells_by_dice_and_average",
        "Dice with cross-entropy, and an average of the weights.",
        "the first validations are far below the last, as the average lags behind",
        lambda folder: (
            cells(folder, 140, 94, 0.12)
            | {"objective.loss": "dice_cross_entropy", "loop.ema_decay": 0.95, "loop.epochs": 14}
        ),
        "mean_iou",
        0.9,
    ),
    Healthy(
        "eight_times_four_songs",
        "The device has room for eight songs only.",
        "gradients of four batches of eight make one step",
        lambda folder: songs(folder, 2500, 95) | {"loop.batch_size": 8, "loop.accumulation": 4, "loop.epochs": 12},
        "f1",
        0.9,
    ),
    Healthy(
        "small_constant_steps",
        "A small rate, never lowered, and patience.",
        "a learning rate of 0.0005 that stays",
        lambda folder: (
            concrete(folder, 1800, 96)
            | {"optimizer.lr": 5e-4, "schedule.kind": "constant", "loop.epochs": 80, "loop.batch_size": 64}
        ),
        "r2",
        0.93,
    ),
    Healthy(
        "delays_weighed",
        "One train in six is late; missing it costs more.",
        "pos_weight of 2, on purpose",
        lambda folder: trains(folder, 3500, 97, -0.9) | {"objective.pos_weight": 2.0},
        "f1",
        0.55,
    ),
    Healthy(
        "neighbors_of_shapes",
        "Shapes of a kind shall lie close together.",
        "no accuracy, and a loss far from zero, as supervised contrastive losses are",
        lambda folder: (
            pieces(folder, 220, 18, 98, 4)
            | {
                "objective.kind": "embedding",
                "objective.embedding_size": 16,
                "loop.batch_size": 64,
                "loop.epochs": 12,
            }
        ),
        "recall_at_1",
        0.9,
    ),
    Healthy(
        "six_layers_with_shortcuts",
        "Residual layers of equal width.",
        "six hidden layers for a table",
        lambda folder: (
            minerals(folder, 2500, 99, 5)
            | {
                "model.kind": "tabular",
                "model.hidden": [32] * 6,
                "model.residual": True,
                "model.norm": "layer",
                "optimizer.lr": 2e-3,
                "loop.epochs": 15,
            }
        ),
        "accuracy",
        0.9,
    ),
    Healthy(
        "stories_smoothed",
        "A little dropout and label smoothing for letters.",
        "the loss stays above what it would be without label smoothing",
        lambda folder: (
            stories(folder, 1200, 100)
            | {
                "optimizer.lr": 8e-3,
                "objective.label_smoothing": 0.05,
                "model.dropout": 0.05,
                "loop.epochs": 7,
            }
        ),
        "loss",
        1.3,
    ),
    Healthy(
        "shapes_by_a_dropping_net",
        "Dropout by hand, with self.training.",
        "functional.dropout in forward",
        _own(
            lambda folder: pieces(folder, 240, 18, 101, 5) | {"optimizer.kind": "nadam", "optimizer.lr": 2e-3},
            pictures(body="        x = nn.functional.dropout(x, 0.3, training=self.training)\n"),
        ),
        "accuracy",
        0.93,
    ),
    Healthy(
        "nine_blobs_in_space",
        "Nine heaps of points in six dimensions, told apart after an epoch.",
        "validation is perfect from the second epoch on",
        lambda _: {
            "dataset.kind": "blobs",
            "dataset.samples": 3000,
            "dataset.classes": 9,
            "dataset.features": 6,
            "dataset.spread": 0.6,
            "dataset.data_seed": 102,
            "model.kind": "mlp",
            "model.hidden": [32],
            "loop.epochs": 12,
            "loop.batch_size": 64,
            **COSINE,
        },
        "accuracy",
        0.95,
    ),
    Healthy(
        "minerals_scaled_inside",
        "A batch norm comes first, and then SGD at 0.1.",
        "a high rate of SGD, which batch normalization bears",
        _own(
            lambda folder: (
                minerals(folder, 2400, 103, 4)
                | {"optimizer.kind": "sgd", "optimizer.lr": 0.1, "schedule.kind": "one_cycle", "loop.batch_size": 64}
            ),
            perceptron(
                "nn.BatchNorm1d(features)",
                *linear(48, deep=1)[:-1],
                "nn.BatchNorm1d(48)",
                "nn.Linear(48, outputs)",
            ),
        ),
        "accuracy",
        0.9,
    ),
    *(replace(run, name=f"{run.name}_as_given", story=f"{run.story} I changed nothing.") for run in PRESETS),
)
