"""The loop as tutorials write it, on the lab job: a contestant of ``tests.benchmarks.lab``, in a process of its own.

A Dataset that gives one sample at a time, a DataLoader, ``.item()`` at every step, torch's scheduler objects.
Prints one JSON line: seconds of the epochs (validation included, imports and reading the files not) and the results.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, Subset


class Digits(Dataset[tuple[Tensor, int]]):
    """MNIST, one normalised sample at a time."""

    def __init__(self, folder: Path) -> None:
        with gzip.open(folder / "train-images-idx3-ubyte.gz") as stream:
            self.images = np.frombuffer(stream.read(), np.uint8, offset=16).reshape(-1, 28, 28)
        with gzip.open(folder / "train-labels-idx1-ubyte.gz") as stream:
            self.labels = np.frombuffer(stream.read(), np.uint8, offset=8)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        image = torch.from_numpy(self.images[index].copy()).unsqueeze(0).float() / 255.0
        return (image - 0.1307) / 0.3081, int(self.labels[index])


def make_model() -> nn.Module:
    """The references' laboratory network: two conv-relu-pool blocks and a 128-unit linear layer."""
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(64 * 7 * 7, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    )


def evaluate(model: nn.Module, loader: DataLoader[Any]) -> tuple[float, float]:
    """Loss and accuracy over the loader."""
    model.eval()
    loss, correct, count = 0.0, 0, 0
    with torch.no_grad():
        for inputs, targets in loader:
            outputs = model(inputs)
            loss += nn.functional.cross_entropy(outputs, targets, reduction="sum").item()
            correct += (outputs.argmax(1) == targets).sum().item()
            count += len(targets)
    return loss / count, correct / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch-size", type=int, default=128)
    parser.add_argument("--accumulation", type=int, default=1)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    digits = Digits(arguments.folder)
    order = torch.randperm(len(digits)).tolist()
    train = DataLoader(Subset(digits, order[:48_000]), batch_size=arguments.batch_size, shuffle=True)
    validation = DataLoader(Subset(digits, order[48_000:]), batch_size=arguments.batch_size)
    model = make_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
    steps = -(-len(train) // arguments.accumulation) * arguments.epochs
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-3, total_steps=steps)
    history: list[tuple[float, Any, float]] = []
    started = time.perf_counter()
    for _epoch in range(arguments.epochs):
        model.train()
        optimizer.zero_grad(set_to_none=True)
        for index, (inputs, targets) in enumerate(train):
            loss = nn.functional.cross_entropy(model(inputs), targets) / arguments.accumulation
            loss.backward()
            if (index + 1) % arguments.accumulation == 0 or index + 1 == len(train):
                norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
                optimizer.step()
                history.append((loss.item() * arguments.accumulation, scheduler.get_last_lr()[0], norm.item()))
                scheduler.step()
                optimizer.zero_grad(set_to_none=True)
        loss_value, accuracy = evaluate(model, validation)
    seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds, "loss": loss_value, "accuracy": accuracy, "steps": len(history)}))


if __name__ == "__main__":
    main()
