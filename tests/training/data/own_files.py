"""Datasets as a person writes them, and what trains on them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import torch

from training.config import RunConfig
from training.config.consent import agree
from training.data.batching.batches import Data

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
SMALL = """
import torch
from torch.utils.data import Dataset


class Small(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        return torch.full((3,), float(index)), index % 2


def build(split: str):
    return Small() if split == "train" else None
"""
PAIR = "return torch.full((3,), float(index)), index % 2"
"""The line of ``SMALL`` that makes a sample."""
COLLATE = """
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset


class Words(Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, index):
        return torch.rand(1 + index % 5, 3), index % 2


def collate_fn(samples):
    inputs, targets = zip(*samples)
    noise = torch.rand(())
    return RESULT


def build(split: str):
    return Words() if split == "train" else None
"""
RESULT = "pad_sequence(inputs, batch_first=True) + 0 * noise, torch.tensor(targets)"


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


def batches(data: Data, epoch: int) -> list[torch.Tensor]:
    return [batch.inputs for window in data.steps(epoch) for batch in window]
