"""Faults inside the networks that people bring, beside those of activations and initial weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, by_network
from tests.doctor.zoo.draws import ADAM, flowers, houses, shapes, spiral, text
from tests.doctor.zoo.edit import edit
from tests.doctor.zoo.first.honest import accuracy_one_by_one, negative_loss_without_future
from tests.doctor.zoo.first.networks import CNN, LISTED, MLP, TRANSFORMER


def grainy_shapes(folder: Path) -> Settings:
    return shapes(folder, each=120) | {"loop.epochs": 8}


def black_frames(folder: Path) -> Settings:
    """Eight of 400 images are black: the camera's lid was on."""
    settings = shapes(folder, each=100)
    for file in sorted((folder / "images").rglob("*.png"))[::50]:
        Image.fromarray(np.zeros((20, 20, 3), np.uint8)).save(file)
    return settings


def own_text(folder: Path) -> Settings:
    return text(folder) | {"loop.epochs": 5}


GESTURES = """import numpy as np
import torch
from torch.utils.data import Dataset


class Gestures(Dataset):
    classes = ["circle", "swipe", "tap"]

    def __init__(self, count, seed):
        draws = np.random.default_rng(seed)
        self.targets = draws.integers(0, 3, count).tolist()
        time = np.linspace(0, 6.28, 16)
        waves = [np.stack([np.sin(time), np.cos(time)], 1), np.stack([time / 3, 0 * time], 1), np.exp(-4 * (np.stack([time, time], 1) - 3) ** 2)]
        self.samples = [torch.tensor(waves[kind] + draws.normal(0, 0.7, (16, 2)), dtype=torch.float32) for kind in self.targets]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        return self.samples[index], self.targets[index]


def build(split: str):
    return Gestures(700, 0) if split == "train" else Gestures(200, 1)
"""

LSTM = """import torch
from torch import nn


class GestureNet(nn.Module):
    def __init__(self, features, classes):
        super().__init__()
        self.lstm = nn.LSTM(features, 32, batch_first=True)
        self.head = nn.Linear(32, classes)

    def forward(self, x):
        outputs, _ = self.lstm(x)
        return self.head(outputs.mean(1))


def build(features: int, classes: int):
    return GestureNet(features, classes)
"""


def gestures(folder: Path) -> Settings:
    (folder / "gestures.py").write_text(GESTURES)
    return {
        "dataset.kind": "user_dataset",
        "dataset.path": "gestures.py",
        "dataset.random_samples": False,
        "loop.epochs": 8,
        "loop.batch_size": 32,
        **ADAM,
    }


NETWORKS = (
    Case(
        "detached_backbone",
        "own network",
        "I detach the features to save memory. The convolutions look like random noise when I plot them, even after training.",
        "detach() between the convolutions and the rest: conv1 and conv2 get no gradient",
        by_network(
            grainy_shapes,
            edit(CNN, ("torch.flatten(x, 1)", "torch.flatten(x.detach(), 1)")),
            CNN,
        ),
        ("parameters without gradient", "frozen layers"),
        (Fix("without detach()", names=("conv1", "conv2", "detach")),),
        Harm("accuracy", 0.05),
    ),
    Case(
        "layers_in_a_plain_list",
        "own network",
        "I keep the hidden layers in a Python list because their number is a setting. More layers only make it worse.",
        "layers in a list instead of nn.ModuleList are not registered, and never trained",
        by_network(
            lambda folder: spiral(folder) | {"optimizer.lr": 3e-3},
            LISTED,
            edit(
                LISTED,
                ("[nn.Linear(24, 24) for _ in range(depth)]", "nn.ModuleList(nn.Linear(24, 24) for _ in range(depth))"),
            ),
        ),
        ("parameters without gradient",),
        (Fix("nn.ModuleList", names=("hidden", "ModuleList", "list")),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "time_and_batch_confused",
        "own network",
        "Gestures by an LSTM. It gives another answer for the same gesture depending on what else is in the batch.",
        "batch_first is missing: the LSTM runs along the samples of the batch",
        by_network(gestures, edit(LSTM, (", batch_first=True", "")), LSTM),
        ("samples mixed inside a batch",),
        (Fix("batch_first=True", names=("lstm", "batch")),),
        Harm("accuracy", 0.05),
    ),
    Case(
        "centered_by_the_batch",
        "own network",
        "I subtract the mean inside forward so that the network does not depend on the scale. In my app, with one row at a time, "
        "it always answers the same.",
        "forward subtracts the mean over the batch, in evaluation as well",
        by_network(
            flowers,
            edit(
                MLP,
                (
                    "        x = F.relu(self.fc1(x))",
                    "        x = x - x.mean(0, keepdim=True)\n        x = F.relu(self.fc1(x))",
                ),
            ),
            MLP,
        ),
        ("samples mixed inside a batch",),
        (Fix("statistics of the training samples, not of the batch", names=("batch", "mean")),),
        Harm("accuracy", 0.2, by=accuracy_one_by_one, words="accuracy on rows that come one at a time"),
    ),
    Case(
        "prophetic_transformer",
        "own network",
        "Perplexity 1.1 after five epochs!! But what it writes is gibberish.",
        "the causal mask is missing: each letter sees the one to be predicted",
        by_network(own_text, edit(TRANSFORMER, ("h = block(h, mask)", "h = block(h, None)")), TRANSFORMER),
        ("language model sees the future",),
        (Fix("a causal mask", names=("mask", "causal", "future")),),
        Harm("loss", 0.2, by=negative_loss_without_future, words="minus the loss where no later letter is there"),
    ),
    Case(
        "dropout_that_never_ends",
        "own network",
        "Validation jumps up and down, and predicting the same row twice gives two prices.",
        "F.dropout without training=self.training is active in evaluation",
        by_network(houses, edit(MLP, ("return self.out(x)", "return self.out(F.dropout(x, 0.5))")), MLP),
        ("randomness in evaluation",),
        (Fix("training=self.training, or nn.Dropout", names=("dropout",)),),
        Harm("r2", 0.03),
    ),
)

STRETCHED = edit(
    CNN,
    (
        "class ConvNet",
        "class StretchContrast(nn.Module):\n    def forward(self, x):\n        low, high = x.amin((2, 3), keepdim=True), x.amax((2, 3), keepdim=True)\n"
        "        return (x - low) / (high - low + 1e-3)\n\n\nclass ConvNet",
    ),
    ("        self.conv1", "        self.stretch = StretchContrast()\n        self.conv1"),
    ("F.relu(self.conv1(x))", "F.relu(self.conv1(self.stretch(x)))"),
)

LOG_FEATURES = edit(
    MLP,
    (
        "class Net",
        "class LogFeatures(nn.Module):\n    def forward(self, x):\n        return torch.log(x.abs() + 1e-3)\n\n\nclass Net",
    ),
    ("        self.fc1", "        self.logs = LogFeatures()\n        self.fc1"),
    ("F.relu(self.fc1(x))", "self.logs(F.relu(self.fc1(x)))"),
)

ATTENTION = edit(
    MLP,
    (
        "class Net",
        "class FeatureAttention(nn.Module):\n    def __init__(self, width):\n        super().__init__()\n        self.score = nn.Linear(width, width)\n\n"
        "    def forward(self, x):\n        scores = 50 * self.score(x)\n        return 8 * x * torch.softmax(scores, dim=1)\n\n\nclass Net",
    ),
    ("        self.out", "        self.attention = FeatureAttention(64)\n        self.out"),
    ("return self.out(x)", "return self.out(self.attention(x))"),
)

NUMERIC = (
    Case(
        "contrast_of_black_frames",
        "numeric",
        "It trains for a moment and then suddenly nan. With another seed the nan comes earlier or later.",
        "division by the contrast of an image, which is 0 of the few black ones",
        by_network(black_frames, edit(STRETCHED, (" + 1e-3", "")), STRETCHED),
        ("module produces non-finite values",),
        (Fix("a small number beside the difference", names=("stretch", "StretchContrast")),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "logarithm_of_zero",
        "numeric",
        "The logarithm makes my features nicer. The loss is inf or nan from the first step on.",
        "log of what ReLU set to 0",
        by_network(flowers, edit(LOG_FEATURES, (" + 1e-3", "")), LOG_FEATURES),
        ("module produces non-finite values",),
        (Fix("log1p, or a small number inside", names=("logs", "LogFeatures")),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "home_made_softmax",
        "numeric",
        "softmax is exp divided by the sum of exp, so I wrote that. Works in my notebook, breaks here.",
        "exp overflows for scores above 88, as the largest is not subtracted first",
        by_network(
            flowers,
            edit(
                ATTENTION,
                ("torch.softmax(scores, dim=1)", "torch.exp(scores) / torch.exp(scores).sum(1, keepdim=True)"),
            ),
            ATTENTION,
        ),
        ("overflow", "module produces non-finite values"),
        (Fix("torch.softmax", names=("attention", "FeatureAttention")),),
        Harm("accuracy", 0.1),
    ),
)

CASES = (*NETWORKS, *NUMERIC)
