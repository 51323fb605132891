"""Small configurations and data made on the spot."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np

from training.config import RunConfig, apply_overrides, parse_config


def tiny(*overrides: str) -> RunConfig:
    """A run of well under a second: 300 points, 3 epochs of 8 steps; change it with "section.key=value"."""
    data: dict[str, Any] = {
        "name": "tiny",
        "dataset": {"kind": "spiral", "samples": 300},
        "model": {"kind": "mlp", "hidden": [16, 16], "dropout": 0.1},
        "schedule": {"kind": "one_cycle", "max_lr": 1e-2},
        "loop": {"epochs": 3, "batch_size": 32},
        "checkpoints": {"every_steps": 4},
    }
    apply_overrides(data, overrides)
    return parse_config(data)


def write_idx(folder: Path, samples: int = 240, size: int = 12) -> Path:
    """An idx dataset of ``samples`` training images (and a quarter of that for testing) with learnable content."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = np.random.default_rng(0)
    for name, count in (("train", samples), ("t10k", samples // 4)):
        labels = (np.arange(count) % 4).astype(np.uint8)
        images = generator.integers(0, 60, (count, size, size), dtype=np.uint8)
        for index, label in enumerate(labels):
            row, column = divmod(int(label), 2)
            images[index, row * size // 2 : (row + 1) * size // 2, column * size // 2 : (column + 1) * size // 2] += 120
        header = np.array([0x803, count, size, size], ">u4").tobytes()
        with gzip.open(folder / f"{name}-images-idx3-ubyte.gz", "wb") as stream:
            stream.write(header + images.tobytes())
        with gzip.open(folder / f"{name}-labels-idx1-ubyte.gz", "wb") as stream:
            stream.write(np.array([0x801, count], ">u4").tobytes() + labels.tobytes())
    return folder


def tiny_images(folder: Path, *overrides: str) -> RunConfig:
    """A run over tiny images with every random thing on: shuffling, augmentation, dropout, a short last window."""
    data: dict[str, Any] = {
        "name": "pictures",
        "dataset": {"kind": "idx", "path": str(folder), "flip": True, "crop_padding": 2, "rotation": 10.0},
        "model": {"kind": "small_cnn", "channels": [4, 8], "hidden": 16, "dropout": 0.2},
        "schedule": {"kind": "cosine", "warmup": 3},
        "loop": {"epochs": 3, "batch_size": 20, "accumulation": 3, "ema_decay": 0.9},
        "checkpoints": {"every_steps": 2, "keep_last": 50},
    }
    apply_overrides(data, overrides)
    return parse_config(data)
