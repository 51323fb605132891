"""Datasets of a person's own, whose slip no setting shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image

from tests.doctor.zoo.builders.bases import changed, figures, swapped
from tests.doctor.zoo.case import Case, Fix, Harm, Settings, by_settings, one_of
from tests.doctor.zoo.draws import ADAM

WAVES = """import time

import numpy as np
import torch
from torch.utils.data import Dataset


def draw(count, seed):
    draws = np.random.default_rng(seed)
    labels = draws.integers(0, 3, count)
    places = np.arange(24)
    phase = draws.uniform(0, 0.9, (count, 1))
    waves = np.sin(0.35 * (1 + labels[:, None]) * places + phase) + draws.normal(0, 0.4, (count, 24))
    return waves.astype(np.float32), labels


class Waves(Dataset):
    classes = ["slow", "middle", "fast"]

    def __init__(self, part):
        self.part = part
        self.waves, self.labels = draw(900 if part == "train" else 250, 1 if part == "train" else 2)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        wave = self.waves[index]
        label = int(self.labels[index])
        return torch.from_numpy(wave), label


def build(split: str):
    return Waves(split)
"""
WAVE, LABEL = "wave = self.waves[index]\n", "label = int(self.labels[index])\n"
INDENT = "        "


def by_dataset(faulty: str, settings: Settings | None = None) -> Callable[[Path, bool], Settings]:
    """A fault in the person's own Dataset: the text of its file with the fault, and without it."""

    def write(folder: Path, fault: bool) -> Settings:
        (folder / "waves.py").write_text(faulty if fault else WAVES)
        return {
            "dataset.kind": "user_dataset",
            "dataset.path": "waves.py",
            "model.kind": "mlp",
            "model.hidden": [48, 48],
            "loop.epochs": 8,
            "loop.batch_size": 32,
            **ADAM,
            **(settings or {}),
        }

    return write


def arrows(folder: Path) -> Settings:
    """Arrows to the left and to the right, in images of 16 pixels."""
    draws = np.random.default_rng(31)
    for kind in ("left", "right"):
        (folder / "images" / kind).mkdir(parents=True)
        for number in range(200):
            pixels = draws.normal(60, 20, (16, 16, 3))
            row, column = draws.integers(4, 12), draws.integers(4, 12)
            for step in range(4):
                place = column + step if kind == "left" else column - step
                pixels[row - step : row + step + 1, np.clip(place, 0, 15)] += 120
            Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(
                folder / "images" / kind / f"{number:03}.png"
            )
    return {
        "dataset.kind": "image_folder",
        "dataset.path": "images",
        "model.kind": "small_cnn",
        "model.channels": [12, 24],
        "model.hidden": 48,
        "loop.epochs": 8,
        "loop.batch_size": 32,
        **ADAM,
    }


CODE = ("waves.py", "Dataset", "dataset")
CASES = (
    Case(
        "waves_unscaled",
        "preprocessing",
        "Raw readings; I switched normalization off to see them as they are.",
        "Inputs lie around 2000 with a std of 300.",
        by_dataset(
            swapped(WAVES, (WAVE, "wave = 2000 + 300 * self.waves[index]\n")),
            {"dataset.normalize": False, "optimizer.kind": "sgd", "optimizer.lr": 0.02},
        ),
        ("unscaled inputs",),
        (Fix("Normalize.", {"dataset.normalize": one_of(True)}), Fix("Scale them.", names=("scale", "normal"))),
        Harm("accuracy", 0.2),
    ),
    Case(
        "waves_one_unscaled",
        "preprocessing",
        "One of the sensors counts in another unit.",
        "One input is ten thousand times as large as the others.",
        by_dataset(
            swapped(
                WAVES, (WAVE, "wave = self.waves[index] * np.where(np.arange(24) == 3, 10000, 1).astype(np.float32)\n")
            ),
            {"dataset.normalize": False, "optimizer.lr": 1e-3},
        ),
        ("unscaled inputs",),
        (Fix("Normalize.", {"dataset.normalize": one_of(True)}), Fix("Scale it.", names=("scale", "normal"))),
        Harm("accuracy", 0.1),
    ),
    Case(
        "waves_parts_differ",
        "preprocessing",
        "I scale the training samples. Validation is bad.",
        "Training samples are divided by 10 and shifted, validation samples are not.",
        by_dataset(
            swapped(
                WAVES,
                (
                    WAVE,
                    'wave = self.waves[index] * (0.1 if self.part == "train" else 1) + (0.5 if self.part == "train" else 0)\n',
                ),
            ),
        ),
        ("parts preprocessed differently",),
        (Fix("The same for both.", names=(*CODE, "validation")),),
        Harm("loss", 0.2),
    ),
    Case(
        "waves_nan",
        "data",
        "A sensor fails now and then.",
        "One training sample in a hundred holds NaN.",
        by_dataset(
            swapped(
                WAVES,
                (
                    WAVE,
                    WAVE
                    + INDENT
                    + 'if self.part == "train" and index % 100 == 7:\n'
                    + INDENT
                    + "    wave = wave * np.float32(np.nan)\n",
                ),
            )
        ),
        ("non-finite values",),
        (Fix("Leave the samples out.", names=(*CODE, "NaN", "107", "7")),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "waves_off_by_one",
        "labels",
        "Labels from a second file.",
        "Each sample has the label of the next one.",
        by_dataset(
            swapped(WAVES, (LABEL, "label = int(self.labels[(index + 1) % len(self.labels)])\n")),
        ),
        ("shifted labels", "wrong labels"),
        (Fix("The label of the same index.", names=(*CODE, "label", "labels")),),
        Harm("accuracy", 0.3),
    ),
    Case(
        "waves_labels_wrong",
        "labels",
        "Labels from a script of mine.",
        "Training labels are drawn at random for half of the samples.",
        by_dataset(
            swapped(
                WAVES,
                (
                    LABEL,
                    LABEL
                    + INDENT
                    + 'if self.part == "train" and index % 2:\n'
                    + INDENT
                    + "    label = (label + 1 + index // 2 % 2) % 3\n",
                ),
            ),
        ),
        ("noisy labels", "wrong labels"),
        (Fix("Look at the labels.", names=(*CODE, "label", "labels")),),
        Harm("loss", 0.2),
    ),
    Case(
        "waves_class_new",
        "labels",
        "Validation comes from another year.",
        "Validation has a class that training never saw.",
        by_dataset(
            swapped(
                WAVES,
                (LABEL, LABEL + INDENT + 'if self.part == "train" and label == 2:\n' + INDENT + "    label = 1\n"),
            )
        ),
        ("labels out of range",),
        (Fix("Training samples of the class.", names=(*CODE, "fast", "class")),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "waves_same_input",
        "data",
        "It stays at a third, whatever I try.",
        "The index is forgotten: all samples have the first one's wave.",
        by_dataset(swapped(WAVES, (WAVE, "wave = self.waves[0]\n"))),
        ("constant columns",),
        (Fix("waves[index].", names=(*CODE, "same", "input")),),
        Harm("accuracy", 0.3),
    ),
    Case(
        "waves_constant",
        "data",
        "A cable has come off.",
        "Most inputs are always the same number.",
        by_dataset(swapped(WAVES, (WAVE, "wave = np.where(np.arange(24) < 22, np.float32(3), self.waves[index])\n"))),
        ("constant columns",),
        (Fix("Leave them out.", names=(*CODE, "same", "constant")),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "waves_slow",
        "machine",
        "It trains, but the cores idle.",
        "Each sample waits for five milliseconds.",
        by_dataset(
            swapped(WAVES, (WAVE, "time.sleep(0.004)\n" + INDENT + WAVE)), {"loop.epochs": 6, "loader.workers": 0}
        ),
        ("slow loader",),
        (
            Fix("Keep samples in memory.", {"dataset.random_samples": one_of(False)}),
            Fix("Workers.", {"loader.workers": lambda value: value is None or value >= 1}),
            Fix("Read faster.", names=(*CODE, "loader", "worker")),
        ),
        Harm("", 2.0, by="speed"),
    ),
    Case(
        "figures_turned",
        "preprocessing",
        "Augmentation, as everybody does.",
        "Shapes are told by where the arrow points, and images are flipped.",
        lambda folder, faulty: arrows(folder) | ({"dataset.flip": True} if faulty else {}),
        ("augmentation changes the label",),
        (Fix("No flip.", {"dataset.flip": one_of(False)}),),
        Harm("accuracy", 0.2),
    ),
    Case(
        "figures_cropped",
        "preprocessing",
        "Strong crops, as for ImageNet.",
        "Crops of a few percent of a small image hold no shape.",
        by_settings(
            changed(figures, {"loop.epochs": 10}),
            {"dataset.resized_crop_scale": 0.02, "dataset.rotation": 90.0, "dataset.erasing": 0.9},
        ),
        ("augmentation changes the label",),
        (Fix("Milder crops.", {"dataset.resized_crop_scale": lambda value: value >= 0.3}),),
        Harm("accuracy", 0.1),
    ),
)
