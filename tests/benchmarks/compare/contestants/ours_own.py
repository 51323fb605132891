"""Our engine with the same network in a person's own file."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from tests.benchmarks.compare.contestants.ours import measure
from training.config.consent import agree

MLP = """from torch import nn


def build(features: int, classes: int):
    return nn.Sequential(
        nn.Linear(features, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, classes)
    )
"""
SMALL_CNN = """from torch import nn


def build(channels: int, height: int, width: int, classes: int):
    return nn.Sequential(
        nn.Conv2d(channels, 32, 3, padding=1), nn.MaxPool2d(2), nn.ReLU(),
        nn.Conv2d(32, 64, 3, padding=1), nn.MaxPool2d(2), nn.ReLU(),
        nn.Flatten(), nn.Linear(64 * (height // 4) * (width // 4), 128), nn.ReLU(), nn.Linear(128, classes),
    )
"""
RESNET = """import torchvision


def build(classes: int):
    return torchvision.models.resnet18(num_classes=classes)
"""
NETWORKS = {"mlp": MLP, "small_cnn": SMALL_CNN, "torchvision": RESNET}


def run(folder: Path) -> dict[str, Any]:
    """As ``ours.run``."""
    record = json.loads((folder / "task.json").read_text())
    text = NETWORKS[record["config"]["model"]["kind"]]
    file = (folder / "network.py").resolve()
    file.write_text(text)
    digest = hashlib.sha256(text.encode()).hexdigest()
    agree(digest, str(file))
    model = {"kind": "user_file", "path": str(file), "trusted": digest}
    return measure({**record["config"], "model": model}, record["warm_up_epochs"], folder / "workspace")
