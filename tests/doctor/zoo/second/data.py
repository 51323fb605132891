"""What the cases of this group start from: small runs on its samples that go well."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.doctor.zoo.case import Settings
from tests.doctor.zoo.draws import ADAM, write_table
from tests.doctor.zoo.second.networks import WAVES
from tests.doctor.zoo.second.samples import (
    draw_bikes,
    draw_dials,
    draw_diary,
    draw_genres,
    draw_glyphs,
    draw_grains,
    draw_hotels,
    draw_loans,
    draw_roads,
    draw_signals,
)


def loans(folder: Path, count: int = 3000) -> Settings:
    """Yes or no, of a table."""
    write_table(folder / "loans.csv", draw_loans(count))
    return {
        "dataset.kind": "table",
        "dataset.path": "loans.csv",
        "dataset.targets": ["defaulted"],
        "model.kind": "tabular",
        "model.hidden": [16, 16],
        "objective.kind": "binary",
        "loop.epochs": 12,
        "loop.batch_size": 64,
        **ADAM,
    }


def bikes(folder: Path, count: int = 2500) -> Settings:
    """A number, of a table."""
    write_table(folder / "bikes.csv", draw_bikes(count))
    return {
        "dataset.kind": "table",
        "dataset.path": "bikes.csv",
        "dataset.targets": ["rented"],
        "model.kind": "tabular",
        "model.hidden": [64, 64],
        "objective.kind": "regression",
        "loop.epochs": 30,
        "loop.batch_size": 64,
        **ADAM,
        "optimizer.lr": 5e-3,
    }


def grains(folder: Path, count: int = 4000, kinds: int = 6, spread: float = 1.0) -> Settings:
    """A class, of an archive of numbers."""
    x, y = draw_grains(count, kinds=kinds, spread=spread)
    np.savez(folder / "grains.npz", x=x, y=y)
    return {
        "dataset.kind": "npz",
        "dataset.path": "grains.npz",
        "model.kind": "mlp",
        "model.hidden": [64, 64],
        "objective.kind": "classification",
        "loop.epochs": 15,
        "loop.batch_size": 64,
        **ADAM,
    }


def genres(folder: Path, count: int = 3000) -> Settings:
    """Any of five labels, of an archive of numbers."""
    x, y = draw_genres(count)
    np.savez(folder / "films.npz", x=x, y=y)
    return {
        "dataset.kind": "npz",
        "dataset.path": "films.npz",
        "dataset.task": "labels",
        "model.kind": "mlp",
        "model.hidden": [64, 64],
        "objective.kind": "multi_label",
        "loop.epochs": 20,
        "loop.batch_size": 64,
        **ADAM,
        "optimizer.lr": 5e-3,
    }


def glyphs(folder: Path, count: int = 2000, kinds: int = 6, side: int = 16) -> Settings:
    """Letters in small images, of an archive."""
    x, y = draw_glyphs(count, kinds=kinds, side=side)
    np.savez(folder / "letters.npz", x=x, y=y)
    return {
        "dataset.kind": "npz_pictures",
        "dataset.path": "letters.npz",
        "model.kind": "small_cnn",
        "model.channels": [16, 32],
        "model.hidden": 64,
        "objective.kind": "classification",
        "loop.epochs": 8,
        "loop.batch_size": 32,
        **ADAM,
    }


def dials(folder: Path, count: int = 1600) -> Settings:
    """A number, of images."""
    x, y = draw_dials(count)
    np.savez(folder / "gauges.npz", x=x, y=y)
    return {
        "dataset.kind": "npz_pictures",
        "dataset.path": "gauges.npz",
        "dataset.task": "values",
        "model.kind": "small_cnn",
        "model.channels": [12, 24],
        "model.hidden": 64,
        "objective.kind": "regression",
        "loop.epochs": 12,
        "loop.batch_size": 32,
        **ADAM,
    }


def roads(folder: Path, count: int = 240) -> Settings:
    """Masks, of an archive."""
    x, y = draw_roads(count)
    np.savez(folder / "roads.npz", x=x, y=y)
    return {
        "dataset.kind": "npz_pictures",
        "dataset.path": "roads.npz",
        "dataset.task": "mask",
        "model.kind": "unet",
        "model.depth": 2,
        "model.width": 8,
        "objective.kind": "segmentation",
        "loop.epochs": 10,
        "loop.batch_size": 12,
        **ADAM,
        "optimizer.lr": 5e-3,
    }


SIGNALS = '''"""Recordings of four machines."""

import numpy as np
import torch
from torch.utils.data import Dataset


class Recordings(Dataset):
    classes = ["pump", "fan", "saw", "heart"]

    def __init__(self, part):
        archive = np.load("ARCHIVE")
        self.values, self.kinds = archive["x_" + part], archive["y_" + part]

    def __len__(self):
        return len(self.kinds)

    def __getitem__(self, index):
        return torch.from_numpy(self.values[index]), int(self.kinds[index])


def build(split: str):
    return Recordings(split)
'''


def signals(folder: Path, count: int = 1600, length: int = 48, text: str = SIGNALS) -> Settings:
    """A class, of a Dataset of one's own that reads recordings."""
    x, y = draw_signals(count, length=length)
    cut = count * 3 // 4
    np.savez(folder / "recordings.npz", x_train=x[:cut], y_train=y[:cut], x_validation=x[cut:], y_validation=y[cut:])
    if not (folder / "network.py").exists():  # a case may have brought its own
        (folder / "network.py").write_text(WAVES)
    (folder / "recordings.py").write_text(text.replace("ARCHIVE", str(folder / "recordings.npz")))
    return {
        "dataset.kind": "user_dataset",
        "dataset.path": "recordings.py",
        "dataset.random_samples": False,
        "model.kind": "user_file",
        "model.path": "network.py",
        "objective.kind": "classification",
        "loop.epochs": 12,
        "loop.batch_size": 32,
        **ADAM,
    }


def hotels(folder: Path, queries: int = 350) -> Settings:
    """Rows to be ranked within each search."""
    write_table(folder / "hotels.csv", draw_hotels(queries))
    return {
        "dataset.kind": "ranking",
        "dataset.path": "hotels.csv",
        "dataset.query_column": "search",
        "dataset.targets": ["relevance"],
        "model.kind": "tabular",
        "model.hidden": [32, 32],
        "objective.kind": "ranking",
        "loop.epochs": 15,
        "loop.batch_size": 16,
        **ADAM,
    }


def diary(folder: Path, sentences: int = 1500) -> Settings:
    """A language model of letters."""
    (folder / "diary.txt").write_text(draw_diary(sentences))
    return {
        "dataset.kind": "text",
        "dataset.path": "diary.txt",
        "dataset.context": 32,
        "model.kind": "gpt",
        "model.layers": 2,
        "model.heads": 2,
        "model.width": 32,
        "objective.kind": "language_model",
        "loop.batch_size": 32,
        "loop.epochs": 8,
        **ADAM,
        "optimizer.lr": 8e-3,
    }


def moons(_folder: Path) -> Settings:
    """Points in the plane, two classes."""
    return {
        "dataset.kind": "moons",
        "dataset.samples": 1500,
        "dataset.noise": 0.12,
        "model.kind": "mlp",
        "model.hidden": [32, 32],
        "objective.kind": "classification",
        "loop.epochs": 15,
        "loop.batch_size": 32,
        "loop.decision_boundary": "off",
        **ADAM,
        "optimizer.lr": 1e-2,
    }


def blobs(_folder: Path, classes: int = 12, samples: int = 3000) -> Settings:
    """Clouds in ten dimensions."""
    return {
        "dataset.kind": "blobs",
        "dataset.samples": samples,
        "dataset.classes": classes,
        "dataset.features": 10,
        "dataset.spread": 4.0,
        "model.kind": "mlp",
        "model.hidden": [64],
        "objective.kind": "classification",
        "loop.epochs": 12,
        "loop.batch_size": 64,
        **ADAM,
    }
