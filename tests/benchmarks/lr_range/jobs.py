"""Eight small jobs, each with the seven rates of its grid: the recipe's own and three times as much and as little, again and again."""

from __future__ import annotations

import csv
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from training.config import RunConfig, parse_config
from training.engine.runs.run import start_run
from training.laboratory.plan import write_share

RATES: Final = tuple(3.0**power for power in range(-3, 4))

Settings = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Job:
    """``make`` writes its data, made from those in the first folder, into the second, and answers the settings that are its own."""

    name: str
    rate: float
    make: Callable[[Path, Path], Settings]

    def configure(self, data: Path, place: Path) -> RunConfig:
        """Its configuration at the recipe's rate; files of the data are written once."""
        place.mkdir(parents=True, exist_ok=True)
        settings = self.make(data, place)
        settings["optimizer"]["lr"] = self.rate
        usual: Settings = {
            "precision": {"device": "cpu", "threads": 1},
            "checkpoints": {"every_steps": 10**9, "keep_last": 1},
        }
        for section, values in usual.items():
            settings[section] = {**values, **settings.get(section, {})}
        return parse_config({"name": self.name, **settings}, self.name)

    def rates(self) -> list[float]:
        """Of the grid, in two digits."""
        return [float(f"{self.rate * factor:.2g}") for factor in RATES]


def classify(data: Path, place: Path) -> Settings:
    """Digits, with Adam and one cycle."""
    return {
        "dataset": choose_digits(data, place, 0.5, range(10)),
        "model": {"kind": "small_cnn", "channels": [4, 8], "hidden": 32},
        "optimizer": {"kind": "adam"},
        "schedule": {"kind": "one_cycle"},
        "loop": {"epochs": 5, "batch_size": 32, "clip_norm": 1.0},
    }


def regress(data: Path, place: Path) -> Settings:
    """Prices of diamonds, with AdamW and one cycle, as ``preset:table-values``."""
    file = place / "diamonds.csv"
    if not file.is_file():
        with (data / "tables" / "diamonds.csv").open(newline="") as stream:
            head, *rows = csv.reader(stream)
        chosen = np.random.default_rng(0).permutation(len(rows))[:8000]
        with file.open("w", newline="") as stream:
            csv.writer(stream).writerows([head, *(rows[number] for number in chosen)])
    return {
        "dataset": {
            "kind": "table",
            "path": str(file),
            "targets": ["price"],
            "task": "values",
            "validation_fraction": 0.5,
        },
        "model": {"kind": "tabular", "hidden": [64, 64]},
        "objective": {"kind": "regression", "loss": "huber"},
        "optimizer": {"kind": "adamw", "weight_decay": 0.01},
        "schedule": {"kind": "one_cycle"},
        "loop": {"epochs": 20, "batch_size": 64, "clip_norm": 1.0},
    }


def segment(data: Path, place: Path) -> Settings:
    """Streets, with a U-Net, as ``preset:segmentation``."""
    folder = place / "camvid"
    if not folder.is_dir():
        with tarfile.open(data / "camvid-small.tar.xz") as archive:
            archive.extractall(folder, filter="data")
    held = next(path.parent for path in folder.rglob("train") if path.is_dir())
    return {
        "dataset": {
            "kind": "segmentation",
            "path": str(held),
            "image_size": [24, 32],
            "flip": True,
            "ignore_index": 11,
        },
        "model": {"kind": "unet", "depth": 2, "width": 4},
        "objective": {"kind": "segmentation", "loss": "dice_cross_entropy"},
        "optimizer": {"kind": "adamw", "weight_decay": 0.01},
        "schedule": {"kind": "one_cycle"},
        "loop": {"epochs": 20, "batch_size": 8, "clip_norm": 1.0},
    }


def write_words(data: Path, place: Path) -> Settings:
    """Letters of Shakespeare, with a GPT and AdamW."""
    file = place / "text.txt"
    if not file.is_file():
        file.write_text((data / "text" / "tinyshakespeare.txt").read_text()[:100_000])
    return {
        "dataset": {"kind": "text", "path": str(file), "context": 16, "validation_fraction": 0.2},
        "model": {"kind": "gpt", "width": 32, "layers": 2, "heads": 2, "dropout": 0.0},
        "objective": {"kind": "language_model", "sample_tokens": 0},
        "optimizer": {"kind": "adamw", "weight_decay": 0.1},
        "schedule": {"kind": "cosine", "warmup": 50},
        "loop": {"max_steps": 600, "batch_size": 16, "clip_norm": 1.0},
    }


def descend(_data: Path, _place: Path) -> Settings:
    """Drawn shapes, with SGD and momentum, at a rate that falls in steps."""
    return {
        "dataset": {"kind": "shapes", "samples": 3000, "image_size": 20, "validation_fraction": 0.5},
        "model": {"kind": "small_cnn", "channels": [8, 16], "hidden": 32},
        "optimizer": {"kind": "sgd", "weight_decay": 5e-4},
        "schedule": {"kind": "multi_step", "milestones": ["50 %", "75 %"]},
        "loop": {"epochs": 20, "batch_size": 32, "clip_norm": 0.0},
    }


def separate(_data: Path, _place: Path) -> Settings:
    """The spiral, as ``preset:spiral``."""
    return {
        "dataset": {"kind": "spiral", "samples": 3000, "validation_fraction": 0.5},
        "model": {"kind": "mlp", "hidden": [64, 64]},
        "optimizer": {"kind": "adamw"},
        "schedule": {"kind": "cosine", "warmup": 50},
        "loop": {"epochs": 100, "batch_size": 64},
    }


def orthogonalize(data: Path, place: Path) -> Settings:
    """Letters of Shakespeare, with Muon, as ``preset:gpt``."""
    settings = write_words(data, place)
    settings["model"] |= {"norm": "rms", "activation": "relu_squared", "tie_weights": False}
    settings["optimizer"] = {"kind": "muon"}
    settings["schedule"] = {"kind": "linear", "warmup": 30}
    settings["loop"] |= {"max_steps": 400}
    return settings


def fine_tune(data: Path, place: Path) -> Settings:
    """A run of ours that knows the digits 0 to 4, made to tell 5 to 9 by some of them."""
    model = {"kind": "timm", "name": "test_resnet"}
    known = place / "known"
    if not known.is_dir():
        settings: dict[str, Any] = {
            "name": "known",
            "dataset": choose_digits(data, place, 0.2, range(5)),
            "model": model,
            "optimizer": {"kind": "adamw", "lr": 2e-3},
            "schedule": {"kind": "one_cycle"},
            "loop": {"epochs": 5, "batch_size": 32, "clip_norm": 1.0},
        }
        Path(start_run(parse_config(settings), place).folder).rename(known)
    return {
        "dataset": choose_digits(data, place, 0.5, range(5, 10)),
        "model": {**model, "weights": str(known)},
        "optimizer": {"kind": "adamw", "weight_decay": 0.01},
        "schedule": {"kind": "cosine"},
        "loop": {"epochs": 3, "batch_size": 16, "clip_norm": 1.0},
    }


def rank(_data: Path, _place: Path) -> Settings:
    """Graded items of queries, with NAdam."""
    return {
        "dataset": {"kind": "ranked", "samples": 3000, "noise": 0.3, "validation_fraction": 0.5},
        "model": {"kind": "mlp", "hidden": [32, 32]},
        "objective": {"kind": "ranking"},
        "optimizer": {"kind": "nadam"},
        "schedule": {"kind": "wsd"},
        "loop": {"epochs": 20, "batch_size": 32},
    }


def tell_clouds(_data: Path, _place: Path) -> Settings:
    """Clouds that overlap, with RMSprop at one rate all the while."""
    return {
        "dataset": {
            "kind": "blobs",
            "classes": 20,
            "features": 10,
            "spread": 8.0,
            "samples": 6000,
            "validation_fraction": 0.5,
        },
        "model": {"kind": "mlp", "hidden": [64, 64], "dropout": 0.2},
        "optimizer": {"kind": "rmsprop"},
        "schedule": {"kind": "constant"},
        "loop": {"epochs": 10, "batch_size": 32},
    }


def choose_digits(data: Path, place: Path, validation: float, classes: range) -> dict[str, Any]:
    """A ``[dataset]`` of these classes in a tenth of MNIST."""
    folder = write_share(data / "mnist", 0.1, place.parent)
    return {
        "kind": "idx",
        "path": str(folder),
        "classes": [str(each) for each in classes],
        "validation_fraction": validation,
    }


JOBS: Final[Mapping[str, Job]] = {
    job.name: job
    for job in (
        Job("classification", 5e-3, classify),
        Job("regression", 3e-3, regress),
        Job("segmentation", 5e-3, segment),
        Job("gpt", 3e-3, write_words),
        Job("sgd", 0.02, descend),
        Job("adamw", 9e-3, separate),
        Job("muon", 1e-2, orthogonalize),
        Job("fine-tuning", 1e-3, fine_tune),
    )
}

HELD_OUT: Final[Mapping[str, Job]] = {
    job.name: job for job in (Job("ranking", 3e-3, rank), Job("clouds", 1e-3, tell_clouds))
}
"""Jobs that were added when the study had been settled by the others, and have changed nothing in it."""
