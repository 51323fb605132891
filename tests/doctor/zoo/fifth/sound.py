"""Healthy runs on images, signals and text, and with networks and Datasets of people's own."""

from __future__ import annotations

from pathlib import Path

from tests.doctor.zoo.case import Healthy, Settings
from tests.doctor.zoo.draws import masks, shapes, tagged, write_shapes
from tests.doctor.zoo.edit import edit
from tests.doctor.zoo.fifth.data import bikes, concrete, loans, plant, wines
from tests.doctor.zoo.fifth.networks import ATTENTION, CNN, MLP, WRITER, own
from tests.doctor.zoo.fifth.pictures import arrows, cells, digits, fruit, notices, waves
from tests.doctor.zoo.fifth.preparation import own_digits


def spiral(_folder: Path) -> Settings:
    """Points in the plane."""
    return {
        "dataset.kind": "spiral",
        "dataset.samples": 1800,
        "dataset.noise": 0.1,
        "model.kind": "mlp",
        "model.hidden": [48, 48],
        "loop.epochs": 30,
        "loop.batch_size": 64,
        "loop.decision_boundary": "off",
        "optimizer.kind": "nadam",
        "optimizer.lr": 5e-3,
        "schedule.kind": "wsd",
    }


def _turned(folder: Path) -> Settings:
    """Shapes that are the same whichever way they are turned."""
    write_shapes(folder / "images", 260, 20, kinds=2, seed=31)
    return {
        "dataset.kind": "image_folder",
        "dataset.path": "images",
        "dataset.rotation": 180.0,
        "dataset.flip": True,
        "dataset.vertical_flip": True,
        "model.kind": "small_cnn",
        "model.channels": [12, 24],
        "model.hidden": 48,
        "loop.epochs": 10,
        "loop.batch_size": 32,
        "optimizer.kind": "adamw",
        "optimizer.lr": 3e-3,
        "schedule.kind": "one_cycle",
    }


_GATED = '''"""Gates: half of each layer opens or closes the other half."""

import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.value = nn.Linear(inputs, width)
        self.gate = nn.Linear(inputs, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.value(x) * torch.sigmoid(self.gate(x))


def build(features: int, outputs: int, width: int = 32) -> nn.Module:
    return nn.Sequential(Gate(features, width), Gate(width, width), nn.Linear(width, outputs))
'''

_EXPERTS = '''"""Three experts, of whom a softmax chooses."""

import torch
from torch import nn


class Experts(nn.Module):
    def __init__(self, features: int, classes: int, width: int = 16) -> None:
        super().__init__()
        self.chooser = nn.Linear(features, 3)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, classes)) for _ in range(3)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shares = torch.softmax(self.chooser(x), dim=1)
        found = torch.stack([expert(x) for expert in self.experts], dim=1)
        return (found * shares.unsqueeze(2)).sum(1)


def build(features: int, classes: int) -> nn.Module:
    return Experts(features, classes)
'''

_RESIDUAL = '''"""Residual blocks that begin as nothing."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, width)
        self.down = nn.Linear(width, width)
        nn.init.zeros_(self.down.weight)
        nn.init.zeros_(self.down.bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.relu(self.up(self.norm(x))))


def build(features: int, outputs: int, width: int = 40, depth: int = 8) -> nn.Module:
    return nn.Sequential(nn.Linear(features, width), *(Block(width) for _ in range(depth)), nn.Linear(width, outputs))
'''

_FOURIER = '''"""Fixed random waves of the inputs, and a layer that learns on top of them."""

import torch
from torch import nn


class Waves(nn.Module):
    def __init__(self, features: int, outputs: int, waves: int = 64) -> None:
        super().__init__()
        self.register_buffer("directions", 0.5 * torch.randn(features, waves))
        self.mix = nn.Linear(2 * waves + features, 48)
        self.out = nn.Linear(48, outputs)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        turned = x @ self.directions
        x = torch.cat([x, turned.sin(), turned.cos()], dim=1)
        return self.out(torch.relu(self.mix(x)))


def build(features: int, outputs: int) -> nn.Module:
    return Waves(features, outputs)
'''

_WIDE_TANH = edit(
    MLP,
    ("        nn.Linear(width, outputs),\n    )", "        nn.Linear(width, outputs),\n        Bounded(),\n    )"),
    (
        "from torch import nn\n",
        'import torch\nfrom torch import nn\n\n\nclass Bounded(nn.Module):\n    """The plant\'s limits lie 6 standard deviations off: no target comes near."""\n\n'
        "    def forward(self, x: torch.Tensor) -> torch.Tensor:\n        return 6 * torch.tanh(x / 6)\n",
    ),
)

_LOG_SOFTMAX = edit(CNN, ("return self.head(x)", "return torch.log_softmax(self.head(x), dim=1)"))
_TIED = edit(
    WRITER,
    (
        "        self.head = nn.Linear(width, vocabulary)\n",
        "        self.head = nn.Linear(width, vocabulary, bias=False)\n        nn.init.normal_(self.token.weight, std=0.05)\n        self.head.weight = self.token.weight\n",
    ),
)
_NORMED = edit(
    CNN,
    (
        "        self.pool = ",
        "        self.norm1, self.norm2, self.norm3 = nn.BatchNorm2d(12), nn.BatchNorm2d(24), nn.BatchNorm2d(24)\n        self.drop = nn.Dropout(0.3)\n        self.pool = ",
    ),
    ("torch.relu(self.conv1(x))", "torch.relu(self.norm1(self.conv1(x)))"),
    ("torch.relu(self.conv2(x))", "torch.relu(self.norm2(self.conv2(x)))"),
    ("torch.relu(self.conv3(x))", "torch.relu(self.norm3(self.conv3(x)))"),
    ("        return self.head(x)", "        return self.head(self.drop(x))"),
)


def _moving(folder: Path) -> Settings:
    changes = [
        (
            "        self.images, self.labels = images[part], labels[part]\n",
            '        self.images, self.labels = images[part], labels[part]\n        self.moves = split == "train"\n',
        ),
        (
            "        return image, int(self.labels[index])\n",
            "        if self.moves:  # augmentation, in training alone\n"
            "            image = image + 0.2 * torch.randn_like(image)\n"
            "            image = image * (0.8 + 0.4 * torch.rand(()))\n"
            "        return image, int(self.labels[index])\n",
        ),
    ]
    return own_digits(folder, *changes) | {"dataset.random_samples": True}


def _longtail(folder: Path) -> Settings:
    """Fruit of which the ripe are a quarter as many, in batches drawn alike."""
    settings = fruit(folder, each=320)
    for path in sorted((folder / "images" / "ripe").glob("*.png"))[100:]:
        path.unlink()
    return settings | {"loader.sampling": "balanced"}


RUNS = (
    Healthy(
        "shapes_turned_all_ways",
        "Discs and rings.",
        "Turned by any angle and mirrored: the classes do not care.",
        _turned,
        "accuracy",
        0.88,
    ),
    Healthy(
        "digits_smoothed",
        "Digits with smoothed labels.",
        "The loss cannot fall below 0.5, by label smoothing.",
        lambda folder: digits(folder) | {"objective.label_smoothing": 0.1},
        "accuracy",
        0.88,
    ),
    Healthy(
        "arrows_with_dropout",
        "Arrows, with dropout and erasing.",
        "Validation is better than training, for training is made harder.",
        lambda folder: arrows(folder, each=300) | {"model.dropout": 0.3, "dataset.erasing": 0.2, "loop.epochs": 14},
        "accuracy",
        0.88,
    ),
    Healthy(
        "fruit_of_few_ripe",
        "Ripe fruit is rare.",
        "Classes of 320, 320 and 100 images, drawn alike.",
        _longtail,
        "accuracy",
        0.88,
    ),
    Healthy(
        "cells_counted",
        "Cells in dishes.",
        "A regression on images, whose targets are small counts.",
        cells,
        "r2",
        0.85,
    ),
    Healthy(
        "masks_of_small_discs",
        "Small things to cut out.",
        "6 % of the pixels, by a Dice loss.",
        lambda folder: (
            masks(folder, share=0.06, count=100, contrast=70)
            | {"objective.loss": "dice_cross_entropy", "loop.epochs": 14}
        ),
        "mean_iou",
        0.75,
    ),
    Healthy(
        "photos_of_any_label",
        "Photos with none, one or several labels.",
        "Some images have no label at all.",
        lambda folder: tagged(folder, count=700),
        "f1",
        0.85,
    ),
    Healthy(
        "shapes_accumulated",
        "Small memory, large batch.",
        "Micro-batches of 8, four of which make a step.",
        lambda folder: shapes(folder, each=220) | {"loop.batch_size": 8, "loop.accumulation": 4},
        "accuracy",
        0.85,
    ),
    Healthy(
        "notices_of_bytes",
        "Bytes, not letters.",
        "A vocabulary of 256 of which some 60 occur; overlapping windows.",
        lambda folder: (
            notices(folder, count=500)
            | {"dataset.vocabulary": "bytes", "dataset.stride": 24, "loop.epochs": 8, "optimizer.lr": 5e-3}
        ),
        "accuracy",
        0.6,
    ),
    Healthy(
        "notices_muon",
        "A new optimizer on text.",
        "Muon with its large decay, and cosine restarts.",
        lambda folder: (
            notices(folder, count=1200)
            | {"optimizer.kind": "muon", "optimizer.lr": 6e-3, "model.positions": "learned", "schedule.warmup": "5 %"}
        ),
        "accuracy",
        0.6,
    ),
    Healthy(
        "writer_tied_weights",
        "Input and output share their weights.",
        "One tensor in two places of the own network.",
        lambda folder: own(folder, notices(folder), _TIED),
        "accuracy",
        0.6,
    ),
    Healthy(
        "pump_attention",
        "Attention over pieces of a signal.",
        "Softmax inside the network, and outputs that are averaged.",
        lambda folder: own(folder, waves(folder, count=3000), ATTENTION) | {"loop.epochs": 10, "optimizer.lr": 2e-3},
        "accuracy",
        0.75,
    ),
    Healthy(
        "loans_behind_gates",
        "Sigmoid gates.",
        "Sigmoids in all hidden layers of the own network, as gates.",
        lambda folder: own(folder, loans(folder), _GATED),
        "accuracy",
        0.76,
    ),
    Healthy(
        "wines_three_experts",
        "Experts.",
        "A softmax in the own network weighs three experts, not the classes.",
        lambda folder: own(folder, wines(folder, count=2000), _EXPERTS),
        "accuracy",
        0.88,
    ),
    Healthy(
        "concrete_blocks_of_zero",
        "Residual blocks.",
        "Weights of zero at the end of each block, by design.",
        lambda folder: own(folder, concrete(folder), _RESIDUAL) | {"loop.epochs": 14},
        "r2",
        0.84,
    ),
    Healthy(
        "rentals_fixed_waves",
        "Random features.",
        "Random directions that never learn, in a buffer.",
        lambda folder: own(folder, bikes(folder), _FOURIER),
        "r2",
        0.8,
    ),
    Healthy(
        "plant_wide_limits",
        "The plant has limits.",
        "A tanh at the end, whose bounds lie far beyond all targets.",
        lambda folder: own(folder, plant(folder), _WIDE_TANH),
        "r2",
        0.88,
    ),
    Healthy(
        "digits_log_softmax",
        "Log probabilities.",
        "log_softmax at the end, which cross entropy does not mind: applied twice it is the same.",
        lambda folder: own(folder, digits(folder), _LOG_SOFTMAX),
        "accuracy",
        0.88,
    ),
    Healthy(
        "digits_norms_and_dropout",
        "Norms and dropout.",
        "Batch norm and dropout: training and evaluation differ, and should.",
        lambda folder: own(folder, digits(folder), _NORMED),
        "accuracy",
        0.88,
    ),
    Healthy(
        "digits_moved_by_dataset",
        "My own augmentation.",
        "The own Dataset changes images at random, in training alone, and normalizes by itself.",
        _moving,
        "accuracy",
        0.85,
    ),
)
