"""What a contestant is given: arrays, files, model, optimizer, schedule; and how it reports."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, Dataset, TensorDataset
from torchvision import transforms

from tests.training.known_facts import sample_facts
from training.config import RunConfig, parse_config
from training.models import make_model

Sample = tuple[Tensor, int]


@dataclass
class Task:
    """One job. ``samples`` is uint8 (n, H, W, C) or float32 (n, F), ``targets`` int64 (n,)."""

    config: RunConfig
    warm_up_epochs: int
    samples: Tensor
    targets: Tensor
    train: Tensor
    validation: Tensor
    mean: list[float]
    std: list[float]
    classes: int
    files: list[str]
    fused: bool = False
    """Whether the loops that a person writes ask for the fused form of their optimizer, which is not torch's default."""
    workers: int = 0

    @property
    def epochs(self) -> int:
        return self.config.loop.epochs

    @property
    def batch_size(self) -> int:
        return self.config.loop.batch_size

    @property
    def accumulation(self) -> int:
        return self.config.loop.accumulation

    @property
    def steps_per_epoch(self) -> int:
        batches = -(-len(self.train) // self.batch_size)
        return -(-batches // self.accumulation)

    @property
    def total_steps(self) -> int:
        return self.epochs * self.steps_per_epoch

    @property
    def pictures(self) -> bool:
        return self.samples.ndim == 4

    def model(self) -> nn.Module:
        """The very network of our engine, with the very weights it begins with."""
        size = self.samples.shape
        shape = (size[3], size[1], size[2]) if self.pictures else tuple(size[1:])
        return make_model(self.config.model, sample_facts(shape), self.classes, self.config.seed)

    def optimizer(self, model: nn.Module) -> torch.optim.Optimizer:
        """AdamW as a person writes it."""
        settings: dict[str, Any] = {"fused": True} if self.fused else {}
        section = self.config.optimizer
        return torch.optim.AdamW(model.parameters(), lr=section.lr, weight_decay=section.weight_decay, **settings)

    def scheduler(self, optimizer: torch.optim.Optimizer) -> OneCycleLR:
        """One-cycle as a person writes it; stepped after each optimizer step."""
        return OneCycleLR(optimizer, max_lr=self.max_lr, total_steps=self.total_steps)

    @property
    def max_lr(self) -> float:
        highest: float = self.config.schedule.max_lr  # type: ignore[union-attr,assignment]
        return highest

    @property
    def clip_norm(self) -> float:
        assert self.config.loop.clip_norm is not None
        return self.config.loop.clip_norm

    def loader(self, part: str) -> DataLoader[Any]:
        """Batches of "train", shuffled, or "validation", as a person's DataLoader over single samples gives them."""
        return DataLoader(
            self.dataset(part), batch_size=self.batch_size, shuffle=part == "train", num_workers=self.workers
        )

    def dataset(self, part: str) -> Dataset[Any]:
        """Single samples: of files decoded whenever they are asked for, of arrays scaled whenever they are asked for."""
        numbers = self.train if part == "train" else self.validation
        targets = self.targets[numbers]
        if not self.pictures:
            points = (self.samples[numbers] - torch.tensor(self.mean)) / torch.tensor(self.std)
            return TensorDataset(points.float(), targets)
        if self.files:
            side = self.samples.shape[1]
            return Photos([self.files[int(number)] for number in numbers], targets.tolist(), side, self.mean, self.std)
        return Images(self.samples[numbers].numpy(), targets.numpy(), self.mean, self.std)


class Images(Dataset[Sample]):
    """Bytes in memory, one image at a time to a float tensor, as a Dataset class is written."""

    def __init__(self, images: Any, labels: Any, mean: list[float], std: list[float]) -> None:
        self.images, self.labels = images, labels
        self.mean, self.std = torch.tensor(mean).view(-1, 1, 1), torch.tensor(std).view(-1, 1, 1)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> Sample:
        image = torch.from_numpy(self.images[index]).permute(2, 0, 1).float() / 255.0
        return (image - self.mean) / self.std, int(self.labels[index])


class Photos(Dataset[Sample]):
    """Files, opened with Pillow and brought to a tensor with torchvision's transforms, as its ImageFolder does."""

    def __init__(self, files: list[str], labels: list[int], side: int, mean: list[float], std: list[float]) -> None:
        self.files, self.labels = files, labels
        self.transform = transforms.Compose(
            [
                transforms.Resize(side),
                transforms.CenterCrop(side),
                transforms.ToTensor(),
                transforms.Normalize(mean, std),
            ]
        )

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Sample:
        with Image.open(self.files[index]) as image:
            return self.transform(image.convert("RGB")), self.labels[index]


def load_task(folder: Path, fused: bool = False, workers: int = 0) -> Task:
    """Read what ``material`` wrote."""
    record = json.loads((folder / "task.json").read_text())
    # Only our engine knows how to compile its step; the others have no use for the section.
    config = parse_config({key: value for key, value in record["config"].items() if key != "precision"})
    with np.load(folder / "arrays.npz") as arrays:
        return Task(
            config=config,
            warm_up_epochs=record["warm_up_epochs"],
            samples=torch.from_numpy(arrays["samples"]),
            targets=torch.from_numpy(arrays["targets"]),
            train=torch.from_numpy(arrays["train"]),
            validation=torch.from_numpy(arrays["validation"]),
            mean=arrays["mean"].tolist(),
            std=arrays["std"].tolist(),
            classes=int(arrays["classes"]),
            files=arrays["files"].tolist(),
            fused=fused,
            workers=workers,
        )


@dataclass
class Clock:
    """From the first step, or the end of the warm-up, to the last validation."""

    warm_up_epochs: int = 0
    now: Callable[[], float] = time.perf_counter
    seconds: float = 0.0
    loss: float = float("nan")
    accuracy: float = float("nan")
    steps: int = 0
    validations: int = 0
    _began: float = field(default=0.0)

    def start(self) -> None:
        """The first step comes next."""
        self._began = self.now()

    def validated(self, loss: float, accuracy: float) -> None:
        """A validation has ended."""
        moment = self.now()
        self.loss, self.accuracy = loss, accuracy
        self.validations += 1
        if self.validations == self.warm_up_epochs:
            self._began = moment
        self.seconds = moment - self._began

    def record(self) -> dict[str, Any]:
        """The line that a contestant prints."""
        return {"seconds": self.seconds, "loss": self.loss, "accuracy": self.accuracy, "steps": self.steps}
