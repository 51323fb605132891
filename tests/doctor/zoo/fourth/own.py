"""Sizes, regularization, and own networks and Datasets with a mistake."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, between, by_network, by_settings, one_of
from tests.doctor.zoo.fourth.data import COSINE, SWINGS, concrete, pieces, points, songs, stories, swings
from tests.doctor.zoo.fourth.networks import convolutions, pictures


def _swings(folder: Path, seed: int) -> Settings:
    return by_network(lambda place: swings(place, 1500, seed), "", convolutions())(folder, False)


POOLED = '''import torch
from torch import nn


class Weighted(nn.Module):
    """A share for each moment, and then a mean by these shares."""

    def __init__(self, classes):
        super().__init__()
        self.filters = nn.Sequential(nn.Conv1d(1, 16, 7, padding=3), nn.ReLU(), nn.Conv1d(16, 32, 5, padding=2), nn.ReLU())
        self.score = nn.Conv1d(32, 1, 1)
        self.head = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, classes))

    def forward(self, x):
        x = self.filters(x)
        share = SHARE
        return self.head((x * share).sum(dim=2))


def build(classes: int):
    return Weighted(classes)
'''
LOUDNESS = '''"""Recordings, and what was heard."""

import numpy as np
import torch
from torch.utils.data import Dataset


class Sounds(Dataset):
    classes = ["still", "slow", "fast", "damped"]

    def __init__(self, file, part):
        self.file, self.part = file, part
        with np.load(file) as arrays:
            self.x, self.y = arrays[part + "_x"], arrays[part + "_y"]
PREPARE
    def __len__(self):
        return len(self.y)

    def __getitem__(self, index):
READ
        return torch.from_numpy(x), int(self.y[index])


def build(split: str, file: str):
    return Sounds(file, split)
'''
FILTER = '''
    def clean(self, x):
        """A running median over windows of 5, 9 and 13, one after the other."""
        for width in range(5, 15, 4):
            padded = np.pad(x, ((0, 0), (width // 2, width // 2)), mode="edge")
            middle = [[np.median(row[place : place + width]) for place in range(x.shape[1])] for row in padded]
            x = 0.5 * x + 0.5 * np.array(middle)
        return x.astype(np.float32)
'''


def _sounds(folder: Path, faulty: bool) -> Settings:
    prepare = "" if faulty else "        self.x = np.stack([self.clean(x) for x in self.x])\n"
    read = "        x = self.clean(self.x[index])" if faulty else "        x = self.x[index]"
    code = LOUDNESS.replace("PREPARE", prepare + FILTER).replace("READ", read)
    settings = by_network(lambda place: swings(place, 300, 6, code), "", convolutions())(folder, False)
    return (
        settings
        | {
            "dataset.random_samples": True,
            "loop.epochs": 10,
            "loop.batch_size": 16,
            "optimizer.lr": 8e-3,
            "loader.workers": 0,
        }
        | ({} if faulty else {"dataset.random_samples": False})
    )


def _sky(folder: Path) -> Settings:
    """Counts of stars by the logarithm of light, some of which is none."""
    draws = np.random.default_rng(81)
    light = draws.lognormal(0, 1, (1500, 6))
    light[draws.random(light.shape) < 0.004] = 0.0
    kind = (np.log(light[:, :3] + 0.05).sum(axis=1) > np.log(light[:, 3:] + 0.05).sum(axis=1)).astype(np.int64)
    np.savez(
        folder / "sky.npz",
        train_x=light.astype(np.float32)[:1100],
        train_y=kind[:1100],
        validation_x=light.astype(np.float32)[1100:],
        validation_y=kind[1100:],
    )
    code = SWINGS.replace('["still", "slow", "fast", "damped"]', '["north", "south"]')
    code = code.replace(
        "Swings of a pendulum, recorded by a sensor: still, slow, fast or damped.", "Light of two skies."
    )
    (folder / "sky.py").write_text(code.replace("Swings", "Sky"))
    return {
        "dataset.kind": "user_dataset",
        "dataset.path": "sky.py",
        "dataset.arguments.file": str(folder / "sky.npz"),
        "dataset.random_samples": False,
        "dataset.normalize": False,
        "loop.epochs": 12,
        "loop.batch_size": 32,
        **COSINE,
    }


def _logarithm(line: str) -> str:
    return f"""import torch
from torch import nn


class Sky(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, 32), nn.ReLU(), nn.Linear(32, classes))

    def forward(self, x):
        return self.body({line})


def build(features: int, classes: int):
    return Sky(features, classes)
"""


CASES = (
    Case(
        "stories_in_four_numbers",
        "layers",
        "I made the transformer small, to be quick.",
        "a width of four",
        by_settings(lambda folder: stories(folder, 900, 53), {"model.width": 4, "model.heads": 1}),
        ("too few neurons",),
        (Fix("Make it wider.", {"model.width": between(16, 256)}),),
        Harm("loss", 0.3),
    ),
    Case(
        "circles_by_thirty_layers",
        "layers",
        "If three layers are good, thirty should be ten times as good.",
        "thirty hidden layers without norm or shortcuts",
        by_settings(
            lambda _: points("circles", 54, (32, 32), noise=0.1) | {"loop.epochs": 20},
            {"model.hidden": [32] * 30},
        ),
        ("superfluous layers",),
        (Fix("Take fewer layers.", {"model.hidden": lambda value: 1 <= len(value) <= 6}),),
        Harm("accuracy", 0.2),
    ),
    Case(
        "weights_pulled_to_zero",
        "regularization",
        "The gap between training and validation should close.",
        "a weight decay of 10",
        by_settings(lambda folder: songs(folder, 2300, 55), {"optimizer.weight_decay": 10.0}),
        ("regularization too strong", "optimizer settings"),
        (Fix("Lower the decay.", {"optimizer.weight_decay": between(0, 0.5)}),),
        Harm("f1", 0.1),
    ),
    Case(
        "concrete_mostly_switched_off",
        "regularization",
        "Dropout is always good, is it not?",
        "dropout of 0.85 in a small network for a regression",
        by_settings(lambda folder: concrete(folder, 1600, 56), {"model.dropout": 0.85}),
        ("regularization too strong",),
        (Fix("Drop less.", {"model.dropout": between(0, 0.2)}),),
        Harm("r2", 0.1),
    ),
    Case(
        "eyes_without_gradient",
        "own network",
        "I wanted to save memory in the first layers.",
        "the convolutions, untrained, are called without gradients",
        by_network(
            lambda folder: pieces(folder, 220, 18, 57, 6),
            pictures().replace(
                "        x = self.pool(torch.relu(self.first(x)))\n        x = self.squeeze(torch.relu(self.second(x)))\n",
                "        with torch.no_grad():\n            x = self.pool(torch.relu(self.first(x)))\n"
                "            x = self.squeeze(torch.relu(self.second(x)))\n",
            ),
            pictures(),
        ),
        ("parameters without gradient", "frozen layers"),
        (Fix("Take no_grad away.", names=("no_grad", "first", "second")),),
        Harm("accuracy", 0.05),
    ),
    Case(
        "shares_of_the_whole_batch",
        "own network",
        "The shares of the moments should add up to one.",
        "softmax over the batch in place of the moments",
        by_network(
            lambda folder: swings(folder, 1500, 59),
            POOLED.replace("SHARE", "torch.softmax(self.score(x), dim=0)"),
            POOLED.replace("SHARE", "torch.softmax(self.score(x), dim=2)"),
        ),
        ("samples mixed inside a batch",),
        (Fix("Take the softmax over time.", names=("softmax", "Weighted")),),
        Harm("loss", 0.08),
    ),
    Case(
        "dropped_at_the_exam",
        "own network",
        "Each time I ask, the answer is another.",
        "functional.dropout without training=self.training",
        by_network(
            lambda folder: pieces(folder, 200, 18, 60, 5),
            pictures(body="        x = nn.functional.dropout(x, 0.7)\n"),
            pictures(body="        x = nn.functional.dropout(x, 0.2, training=self.training)\n"),
        ),
        ("randomness in evaluation", "regularization too strong"),
        (Fix("Drop in training only.", names=("dropout", "self.training")),),
        Harm("loss", 0.1),
    ),
    Case(
        "logarithm_of_a_dark_sky",
        "numeric",
        "It runs with some seeds, and dies with others.",
        "the logarithm of inputs, some of which are 0",
        by_network(_sky, _logarithm("torch.log(x)"), _logarithm("torch.log(x + 0.05)")),
        ("module produces non-finite values", "non-finite values"),
        (Fix("Add a little before the logarithm.", names=("torch.log", "logarithm", "Sky", "zero")),),
        Harm("accuracy", 0.3),
    ),
    Case(
        "medians_again_and_again",
        "machine",
        "An epoch of 300 recordings takes a second.",
        "each recording is filtered anew each time it is asked for",
        _sounds,
        ("slow loader",),
        (
            Fix("Filter once.", names=("clean", "__getitem__", "swings.py", "median")),
            Fix("Take workers.", {"loader.workers": between(1, 64)}),
            Fix("Read samples once.", {"dataset.random_samples": one_of(False)}),
        ),
        Harm("", 3.0, "speed"),
    ),
)
