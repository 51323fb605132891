"""Datasets as a person writes them, and what trains on them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from training.config import RunConfig
from training.config.consent import agree

POINTS = '''
import random

import numpy as np
import torch
from torch.utils.data import Dataset


class Points(Dataset):
    classes = ["inner", "outer"]

    def __init__(self, count, noise):
        self.inputs = torch.randn(count, 2)
        self.labels = (self.inputs.norm(dim=1) > 1.1).long()
        self.noise = noise

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        moved = self.inputs[index] + self.noise * torch.randn(2)
        scaled = moved * (1 + self.noise * random.random())
        return scaled.numpy() + self.noise * np.random.rand(2), int(self.labels[index])


def build(split: str, count: int = 60, noise: float = 0.3):
    """Two rings of points.

    count: how many train
    """
    return Points(count if split == "train" else count // 3, noise)
'''


def written(folder: Path, text: str, kind: str = "user_dataset", **settings: Any) -> dict[str, Any]:
    """``[dataset]`` of a file that the person agreed to run."""
    path = folder / "data.py"
    path.write_text(text, encoding="utf-8")
    digest = hashlib.sha256(text.encode()).hexdigest()
    agree(digest, str(path))
    return {"kind": kind, "path": str(path), "trusted": digest, **settings}


def small_run(dataset: dict[str, Any], **sections: Any) -> RunConfig:
    """A run of a few steps."""
    data: dict[str, Any] = {
        "dataset": dataset,
        "model": {"kind": "mlp", "hidden": [6], "dropout": 0.1},
        "loop": {"batch_size": 16, "epochs": 2, "accumulation": 1},
        "schedule": {"kind": "constant"},
        "checkpoints": {"every_steps": 3},
        "precision": {"device": "cpu"},
        "loader": {"workers": 0},
    }
    return RunConfig.model_validate(data | sections)
