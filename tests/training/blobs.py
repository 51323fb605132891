"""Points of which some have a wrong label."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from training.config import RunConfig, parse_config
from training.toml_text import Toml

SAMPLES, FLIPPED = 300, 12


def write_blobs(folder: Path, epochs: int = 12) -> tuple[RunConfig, set[int]]:
    """A run on points of three classes far from each other, and the rows whose label is wrong."""
    rng = np.random.default_rng(3)
    label = np.arange(SAMPLES) % 3
    points = rng.normal(size=(SAMPLES, 2)) + 6.0 * np.array([[0, 0], [1, 0], [0, 1]])[label]
    flipped = rng.choice(SAMPLES, FLIPPED, replace=False)
    label[flipped] = (label[flipped] + 1) % 3
    rows = [f"{x:.4f},{y:.4f},{'abc'[one]}" for (x, y), one in zip(points, label, strict=True)]
    (folder / "blobs.csv").write_text("\n".join(["x,y,kind", *rows]) + "\n")
    config: dict[str, Toml] = {
        "name": "blobs",
        "dataset": {"kind": "table", "path": str(folder / "blobs.csv"), "targets": ["kind"]},
        "model": {"kind": "mlp"},
        "loop": {"epochs": epochs, "batch_size": 20},
        "optimizer": {"kind": "adamw", "lr": 0.02},
    }
    return parse_config(config), set(flipped.tolist())
