"""Inputs and targets that are not prepared, or are prepared amiss, and weights to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, between, by_network, by_settings, one_of
from tests.doctor.zoo.draws import Pixels
from tests.doctor.zoo.fourth.data import COSINE, minerals, songs, swings
from tests.doctor.zoo.fourth.networks import convolutions, linear, perceptron


def _image(pixels: Pixels, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


def _exposures(folder: Path) -> Settings:
    """Fields by night, at dusk and by day: how bright they are is all."""
    draws = np.random.default_rng(51)
    for kind, light in {"night": 70, "dusk": 102, "day": 134}.items():
        for number in range(180):
            field = np.kron(draws.normal(0, 30, (4, 4, 3)), np.ones((4, 4, 1))) + draws.normal(0, 12, (16, 16, 3))
            field = field - field.mean() + light + draws.normal(0, 6)
            _image(np.clip(field, 0, 255).astype(np.uint8), folder / "fields" / kind / f"{number:03}.png")
    return {
        "dataset.kind": "image_folder",
        "dataset.path": "fields",
        "dataset.flip": True,
        "model.kind": "small_cnn",
        "model.channels": [8, 16],
        "model.hidden": 32,
        "loop.epochs": 12,
        "loop.batch_size": 32,
        **COSINE,
    }


def _engravings(folder: Path) -> Settings:
    """Fine lines to the left, to the right, or both."""
    draws = np.random.default_rng(52)
    y, x = np.mgrid[:32, :32].astype(float)
    for kind in ("left", "right", "crossed"):
        for number in range(200):
            pitch = draws.uniform(3.2, 4.2)
            left, right = (
                np.sin(2 * np.pi * (x + way * y) / pitch / 1.4 + 6.3 * draws.random()) > 0.2 for way in (1, -1)
            )
            ink = {"left": left, "right": right, "crossed": np.where(x % 8 < 4, left, right)}[kind]
            pixels = draws.uniform(150, 190) - 80 * ink[..., None] + draws.normal(0, 18, (32, 32, 3))
            _image(np.clip(pixels, 0, 255).astype(np.uint8), folder / "prints" / kind / f"{number:03}.png")
    return {
        "dataset.kind": "image_folder",
        "dataset.path": "prints",
        "model.kind": "small_cnn",
        "model.channels": [8, 16],
        "model.hidden": 32,
        "loop.epochs": 8,
        "loop.batch_size": 32,
        **COSINE,
    }


CANDY = '''"""Candies of three colors, in files of pixels."""

import numpy as np
import torch
from torch.utils.data import Dataset


class Candies(Dataset):
    classes = ["cherry", "lemon", "blueberry"]

    def __init__(self, file, part):
        with np.load(file) as arrays:
            self.pixels, self.labels = arrays[part + "_x"], arrays[part + "_y"]
        self.part = part

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        pixels = self.pixels[index]
LINES
        return torch.from_numpy(pixels.copy()).permute(2, 0, 1), int(self.labels[index])


def build(split: str, file: str):
    return Candies(file, split)
'''


def _candies(folder: Path, faulty: bool) -> Settings:
    draws = np.random.default_rng(53)
    y, x = np.mgrid[:16, :16]
    arrays: dict[str, Any] = {}
    for part, count in (("train", 900), ("validation", 300)):
        kind = draws.integers(0, 3, count)
        pixels = draws.normal(110, 25, (count, 16, 16, 3))
        for number in range(count):
            disc = np.hypot(y - draws.uniform(5, 10), x - draws.uniform(5, 10)) < draws.uniform(3, 5)
            pixels[number][disc] += np.array([[60, -20, -30], [45, 40, -40], [-30, -20, 60]])[kind[number]]
        arrays |= {f"{part}_x": np.clip(pixels, 0, 255).astype(np.uint8), f"{part}_y": kind}
    np.savez(folder / "candies.npz", **arrays)
    lines = '        if self.part == "validation":\n            pixels = pixels[:, :, ::-1]  # as cv2.imread has it'
    code = CANDY.replace("LINES\n", lines + "\n" if faulty else "")
    (folder / "candies.py").write_text(code)
    return {
        "dataset.kind": "user_images",
        "dataset.path": "candies.py",
        "dataset.arguments.file": str(folder / "candies.npz"),
        "dataset.random_samples": False,
        "model.kind": "small_cnn",
        "model.channels": [8, 16],
        "model.hidden": 32,
        "loop.epochs": 8,
        "loop.batch_size": 32,
        **COSINE,
    }


WELLS = '''"""Wells and how good their water is."""

import numpy as np
import torch
from torch.utils.data import Dataset


class Wells(Dataset):
    classes = ["good", "salty", "foul"]

    def __init__(self, file, part):
        with np.load(file) as arrays:
            self.x = torch.from_numpy(arrays[part + "_x"])
            self.y = torch.from_numpy(arrays[part + "_y"])
LINES
    def __len__(self):
        return len(self.y)

    def __getitem__(self, index):
        return self.x[index], int(self.y[index])


def build(split: str, file: str):
    return Wells(file, split)
'''


def _wells(folder: Path, faulty: bool) -> Settings:
    draws = np.random.default_rng(54)
    arrays: dict[str, Any] = {}
    for part, count in (("train", 1500), ("validation", 500)):
        z = draws.normal(0, 1, (count, 5))
        salty = z[:, 1] + z[:, 2] * z[:, 3] > 0.3
        kind = np.where(salty, 1, np.where(abs(z[:, 4]) > 0.8, 2, 0))
        x = z * np.array([90_000, 0.05, 0.4, 2, 0.3]) + np.array([400_000, 0.2, 7, 12, 1.1])
        arrays |= {f"{part}_x": x.astype(np.float32), f"{part}_y": kind}
    np.savez(folder / "wells.npz", **arrays)
    lines = '            mean, std = arrays["train_x"].mean(0), arrays["train_x"].std(0)\n        self.x = (self.x - torch.from_numpy(mean)) / torch.from_numpy(std)\n'
    (folder / "wells.py").write_text(WELLS.replace("LINES", "" if faulty else lines))
    return {
        "dataset.kind": "user_dataset",
        "dataset.path": "wells.py",
        "dataset.arguments.file": str(folder / "wells.npz"),
        "dataset.random_samples": False,
        "dataset.normalize": False,
        "model.kind": "mlp",
        "model.hidden": [48, 48],
        "loop.epochs": 20,
        "loop.batch_size": 32,
        **COSINE,
    }


def _pressure(folder: Path) -> Settings:
    """Pascals of a boiler by six numbers."""
    draws = np.random.default_rng(55)
    x = draws.normal(0, 1, (1600, 6))
    y = (
        310_000
        + 42_000 * x[:, 0]
        + 30_000 * np.tanh(2 * x[:, 1] * x[:, 2])
        + 18_000 * x[:, 3]
        + draws.normal(0, 7000, 1600)
    )
    np.savez(folder / "boiler.npz", x=x.astype(np.float32), y=y.astype(np.float32)[:, None])
    return {
        "dataset.kind": "npz",
        "dataset.path": "boiler.npz",
        "dataset.task": "values",
        "model.kind": "mlp",
        "model.hidden": [48, 48],
        "objective.kind": "regression",
        "loop.epochs": 25,
        "loop.batch_size": 32,
        **COSINE,
    }


def _start(line: str, of: str = "nn.Linear") -> str:
    return f"    for layer in network:\n        if isinstance(layer, {of}):\n            {line}\n"


CASES = (
    Case(
        "dawn_made_by_jitter",
        "preprocessing",
        "I switched on all augmentations of brightness, to be robust.",
        "brightness is drawn at random where brightness is what the classes differ in",
        by_settings(_exposures, {"dataset.brightness": 0.9}),
        ("augmentation changes the label",),
        (Fix("Do not change the brightness.", {"dataset.brightness": between(0, 0.12)}),),
        Harm("accuracy", 0.06),
    ),
    Case(
        "engravings_as_thumbnails",
        "preprocessing",
        "The lines are plain to see in the files.",
        "pictures of 32 pixels made 8 pixels wide, in which fine lines are gone",
        by_settings(_engravings, {"dataset.image_size": 8}),
        ("images too small",),
        (
            Fix("Take larger images.", {"dataset.image_size": between(22, 128)}),
            Fix("Take them as they are.", {"dataset.image_size": one_of(None)}),
        ),
        Harm("accuracy", 0.15),
    ),
    Case(
        "blue_cherries_in_validation",
        "preprocessing",
        "Training goes very well, and validation is worse than guessing.",
        "validation reads colors as BGR, training as RGB",
        _candies,
        ("parts preprocessed differently",),
        (Fix("Read both parts alike.", names=("candies.py", "Candies", "BGR", "channel")),),
        Harm("accuracy", 0.3),
    ),
    Case(
        "wells_by_their_coordinates",
        "preprocessing",
        "My Dataset gives the numbers as they were measured.",
        "inputs of very different sizes, up to hundreds of thousands, that nothing normalizes",
        _wells,
        ("unscaled inputs",),
        (
            Fix("Let the program normalize.", {"dataset.normalize": one_of(True)}),
            Fix("Scale in the Dataset.", names=("wells.py", "Wells")),
        ),
        Harm("accuracy", 0.15),
    ),
    Case(
        "boiler_in_pascals",
        "preprocessing",
        "I want to have pascals, so I switched the standardization off.",
        "targets of hundreds of thousands, as they are",
        by_settings(_pressure, {"objective.standardise": False}),
        ("unscaled targets",),
        (Fix("Standardize the targets.", {"objective.standardise": one_of(True)}),),
        Harm("r2", 0.3),
    ),
    Case(
        "all_weights_a_tenth",
        "initialization",
        "I set the weights to a constant, so that runs can be repeated.",
        "all weights begin at 0.1, and so all units of a layer stay the same",
        by_network(
            lambda folder: minerals(folder, 2000, 22),
            perceptron(*linear(48), after=_start("nn.init.constant_(layer.weight, 0.1); nn.init.zeros_(layer.bias)")),
            perceptron(*linear(48), after=_start("nn.init.kaiming_uniform_(layer.weight); nn.init.zeros_(layer.bias)")),
        ),
        ("symmetric initialization",),
        (Fix("Draw the weights at random.", names=("constant_", "initializ", "random", "symmetr")),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "normal_with_its_default",
        "initialization",
        "I draw weights from the normal distribution.",
        "weights of standard deviation 1 in layers of 64",
        by_network(
            lambda folder: songs(folder, 2000, 23),
            perceptron(*linear(64, deep=3), after=_start("nn.init.normal_(layer.weight)")),
            perceptron(*linear(64, deep=3), after=_start("nn.init.kaiming_normal_(layer.weight)")),
        ),
        ("initialization too large",),
        (Fix("Draw smaller weights.", names=("normal_", "initializ", "kaiming", "xavier")),),
        Harm("loss", 0.5),
    ),
    Case(
        "filters_biased_to_silence",
        "initialization",
        "A negative bias should make the features sparse.",
        "all biases of the convolutions begin at -6, so that no ReLU answers",
        by_network(
            lambda folder: swings(folder, 1400, 25),
            convolutions(after=_start("nn.init.constant_(layer.bias, -6.0)", "nn.Conv1d")),
            convolutions(after=_start("nn.init.zeros_(layer.bias)", "nn.Conv1d")),
        ),
        ("dead initialization",),
        (Fix("Begin with biases of zero.", names=("bias", "initializ", "Conv1d")),),
        Harm("accuracy", 0.3),
    ),
)
