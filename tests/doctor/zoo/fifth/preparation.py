"""Samples that do not reach the network as they should: scales, augmentation, sizes, parts, a slow loader."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.doctor.zoo.case import Case, Fix, Harm, Settings, by_settings, one_of
from tests.doctor.zoo.draws import Columns, write_table
from tests.doctor.zoo.edit import edit
from tests.doctor.zoo.fifth.data import draw_concrete, plant
from tests.doctor.zoo.fifth.pictures import arrows, draw_digits, draw_waves, weaves

READER = '''"""Reads {path} and keeps the last fifth for validation."""

import csv
from pathlib import Path

import torch
from torch.utils.data import Dataset

TARGET = "{target}"


class Rows(Dataset):
    def __init__(self, split: str) -> None:
        with Path({where!r}).open() as file:
            rows = list(csv.DictReader(file))
        names = [name for name in rows[0] if name != TARGET]
        cut = len(rows) * 4 // 5
        x = torch.tensor([[float(row[name]) for name in names] for row in rows])
        y = torch.tensor([[float(row[TARGET])] for row in rows])
        mean, std = x[:cut].mean(0), x[:cut].std(0)
        x = (x - mean) / std
        part = slice(0, cut) if split == "train" else slice(cut, None)
        self.x, self.y = x[part], y[part]

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, index: int):
        return self.x[index], self.y[index]


def build(split: str):
    return Rows(split)
'''


def _read(folder: Path, columns: Columns, name: str, target: str, *changes: tuple[str, str]) -> Settings:
    """A table behind a Dataset of the person's own, which scales the inputs itself."""
    path = write_table(folder / name, columns)
    text = READER.format(path=name, target=target, where=str(path))
    (folder / "dataset.py").write_text(edit(text, *changes))
    return {
        "dataset.kind": "user_dataset",
        "dataset.path": "dataset.py",
        "dataset.normalize": False,
        "dataset.random_samples": False,
        "model.kind": "mlp",
        "model.hidden": [48, 48],
        "objective.kind": "regression",
        "loop.epochs": 20,
        "loop.batch_size": 32,
        "optimizer.kind": "adamw",
        "optimizer.lr": 3e-3,
        "schedule.kind": "cosine",
    }


_UNSCALED = ("        mean, std = x[:cut].mean(0), x[:cut].std(0)\n        x = (x - mean) / std\n", "")


def _raw_concrete(folder: Path, fault: bool) -> Settings:
    return _read(folder, draw_concrete(1500, 11), "mixes.csv", "strength", *([_UNSCALED] if fault else ())) | {
        "optimizer.kind": "sgd",
        "optimizer.lr": 0.02,
        "loop.clip_norm": 0.0,
        "loop.epochs": 30,
    }


def _sorted_columns(folder: Path, fault: bool) -> Settings:
    changes = [
        (
            "        names = [name for name in rows[0] if name != TARGET]\n",
            "        names = [name for name in rows[0] if name != TARGET]\n"
            '        if split == "train":\n            names = sorted(names)\n',
        )
    ]
    return _read(folder, draw_concrete(1800, 12), "lab.csv", "strength", *(changes if fault else ()))


PHOTOS = '''"""Images of digits from an archive."""

from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset


class Digits(Dataset):
    def __init__(self, split: str) -> None:
        with np.load(Path({where!r})) as archive:
            images, labels = archive["images"], archive["labels"]
        cut = len(images) * 4 // 5
        part = slice(0, cut) if split == "train" else slice(cut, None)
        self.images, self.labels = images[part], labels[part]

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int):
        image = torch.from_numpy(self.images[index]).permute(2, 0, 1).float() / 255
        image = (image - 0.35) / 0.28
        return image, int(self.labels[index])


def build(split: str):
    return Digits(split)
'''


def own_digits(folder: Path, *changes: tuple[str, str]) -> Settings:
    """Digits behind a Dataset of the person's own."""
    images, labels = draw_digits(1800, 21)
    np.savez(folder / "archive.npz", images=images, labels=labels)
    (folder / "dataset.py").write_text(edit(PHOTOS.format(where=str(folder / "archive.npz")), *changes))
    return {
        "dataset.kind": "user_images",
        "dataset.path": "dataset.py",
        "dataset.normalize": False,
        "dataset.random_samples": False,
        "model.kind": "small_cnn",
        "model.channels": [12, 24],
        "model.hidden": 48,
        "loop.epochs": 14,
        "loop.batch_size": 32,
        "optimizer.kind": "adamw",
        "optimizer.lr": 3e-3,
        "schedule.kind": "one_cycle",
    }


SPECTRA = '''"""Spectra of signals, made when they are asked for."""

from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset


def spectrum(signal):
    """The strengths of 32 frequencies."""
    time = np.arange(len(signal))
    found = []
    for frequency in range(32):
        wave = np.exp(-2j * np.pi * frequency * time / len(signal))
        found.append(abs((signal * wave).sum()))
    return np.log1p(np.array(found))


class Spectra(Dataset):
    def __init__(self, split: str) -> None:
        with np.load(Path({where!r})) as archive:
            signals, labels = archive["signals"], archive["labels"]
        cut = len(signals) * 4 // 5
        part = slice(0, cut) if split == "train" else slice(cut, None)
        self.labels = labels[part]
        self.spectra = torch.tensor(np.stack([spectrum(each) for each in signals[part]]), dtype=torch.float32)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int):
        return self.spectra[index], int(self.labels[index])


def build(split: str):
    return Spectra(split)
'''


def spectra(folder: Path, fault: bool) -> Settings:
    """Signals whose spectra are computed once, or again and again."""
    signals, labels = draw_waves(1200, 31, noise=0.3)
    np.savez(folder / "signals.npz", signals=signals, labels=labels)
    changes = [
        (
            "        self.spectra = torch.tensor(np.stack([spectrum(each) for each in signals[part]]), dtype=torch.float32)\n",
            "        self.signals = signals[part]\n",
        ),
        (
            "        return self.spectra[index], int(self.labels[index])\n",
            "        smooth = np.mean([spectrum(np.roll(self.signals[index], shift)) for shift in range(4)], axis=0)\n"
            "        return torch.tensor(smooth, dtype=torch.float32), int(self.labels[index])\n",
        ),
    ]
    (folder / "dataset.py").write_text(
        edit(SPECTRA.format(where=str(folder / "signals.npz")), *(changes if fault else ()))
    )
    return {
        "dataset.kind": "user_dataset",
        "dataset.path": "dataset.py",
        "model.kind": "mlp",
        "model.hidden": [32],
        "loop.epochs": 8,
        "loop.batch_size": 32,
        "loader.workers": 0,
        "optimizer.kind": "adamw",
        "optimizer.lr": 5e-3,
        "schedule.kind": "cosine",
    }


def _unscaled_targets(base: Callable[[Path], Settings], changes: Settings) -> Callable[[Path, bool], Settings]:
    return by_settings(base, {"objective.standardise": False, **changes})


CASES = (
    Case(
        "mixes_in_kilograms",
        "preprocessing",
        "My Dataset hands the numbers over as they are in the file, cement in kilograms, age in days. The loss explodes or does not move.",
        "The own Dataset's inputs are in the hundreds, and nothing scales them.",
        _raw_concrete,
        ("unscaled inputs",),
        (
            Fix("Let the program scale them.", {"dataset.normalize": one_of(True)}),
            Fix("Scale them in the Dataset.", names=("dataset.py", "Rows", "mean", "std", "cement", "water")),
        ),
        Harm("r2", 0.3),
    ),
    Case(
        "power_in_megawatts_raw",
        "preprocessing",
        "I switched off the scaling of the target to get honest megawatts. After 20 epochs it predicts 20 MW for a plant of 450.",
        "A target of 454 with a spread of 17 is learned as it is, by steps of a few thousandths.",
        _unscaled_targets(plant, {}),
        ("unscaled targets",),
        (Fix("Learn standard deviations.", {"objective.standardise": one_of(True)}),),
        Harm("rmse", 5),
    ),
    Case(
        "concrete_columns_sorted",
        "preprocessing",
        "Training error is tiny and validation error absurd, worse than the mean. With so few weights that cannot be overfitting.",
        "The own Dataset sorts the columns of the training part by name, and leaves those of the validation part as they are.",
        _sorted_columns,
        ("parts preprocessed differently",),
        (Fix("The same order for both.", names=("sorted", "names", "dataset.py", "Rows")),),
        Harm("r2", 0.4),
    ),
    Case(
        "arrows_mirrored",
        "preprocessing",
        "Flipping doubles the data for free. Up and down are fine; left and right it mixes up whatever I do.",
        "Horizontal flips turn a left arrow into a right one without changing its label.",
        by_settings(arrows, {"dataset.flip": True}),
        ("augmentation changes the label",),
        (Fix("No flips.", {"dataset.flip": one_of(False)}),),
        Harm("accuracy", 0.1),
    ),
    Case(
        "cloth_in_eight_pixels",
        "preprocessing",
        "Small images train quickly, so I set 8 pixels. The weaves all look the same to it (and to me).",
        "Images of 32 pixels shrunk to 8: threads 3 pixels apart are gone.",
        by_settings(weaves, {"dataset.image_size": 8}),
        ("images too small",),
        (Fix("Their own size.", {"dataset.image_size": lambda value: value is None or value >= 24}),),
        Harm("accuracy", 0.2),
    ),
    Case(
        "pump_spectra_on_demand",
        "machine",
        "One epoch takes ages with a network that fits on a postcard. The processor is busy all the time, with what I do not know.",
        "__getitem__ computes four spectra, by loops, each time a sample is asked for.",
        spectra,
        ("slow loader",),
        (
            Fix("Compute them once, in __init__.", names=("__getitem__", "spectrum", "dataset.py", "Spectra")),
            Fix("Ask for each sample once, and keep them.", {"dataset.random_samples": one_of(False)}),
        ),
        Harm("loss", 3, by="speed"),
    ),
)
