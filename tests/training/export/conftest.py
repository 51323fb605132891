"""Runs to export from, trained once for all tests of this folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests.training.tiny import tiny, tiny_images, write_idx
from training.config import RunConfig
from training.engine.runs.run import start_run

Train = Callable[[RunConfig], Path]
CPU = "precision.device=cpu"


@pytest.fixture(scope="session")
def train(tmp_path_factory: pytest.TempPathFactory) -> Train:
    """Train a configuration and return the folder of its last checkpoint."""
    workspace = tmp_path_factory.mktemp("workspace")

    def run(config: RunConfig) -> Path:
        threads = torch.get_num_threads()
        record = start_run(config, workspace)
        torch.set_num_threads(threads)
        assert record.status == "completed", record.reason
        return Path(str(record.last_checkpoint))

    return run


@pytest.fixture(scope="session")
def idx_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_idx(tmp_path_factory.mktemp("data") / "idx")


@pytest.fixture(scope="session")
def spiral(train: Train) -> Path:
    """mlp, AdamW, one-cycle, dropout, no averaged weights."""
    return train(tiny(CPU))


@pytest.fixture(scope="session")
def images(train: Train, idx_folder: Path) -> Path:
    """small_cnn, accumulation, augmentation, warm-up and cosine, dropout, averaged weights."""
    return train(tiny_images(idx_folder, CPU))


@pytest.fixture(scope="session")
def resnet(train: Train, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """torchvision's resnet18 on gray images, one step."""
    folder = write_idx(tmp_path_factory.mktemp("data") / "larger", samples=40, size=40)
    return train(
        tiny_images(
            folder,
            CPU,
            "model.kind=torchvision",
            "model.name=resnet18",
            "schedule.kind=constant",
            "schedule.warmup=0",
            "loop.max_steps=1",
            "loop.batch_size=8",
            "loop.accumulation=1",
            "loop.ema_decay=none",
        )
    )
