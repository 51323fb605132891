"""The training loop as tutorials write it: Dataset, DataLoader, optimizer and scheduler objects, ``.item()`` each step."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from tests.benchmarks.compare.task import Clock, Task


def train(task: Task, clock: Clock) -> None:
    torch.manual_seed(0)
    training, validation = task.loader("train"), task.loader("validation")
    model = task.model()
    criterion = nn.CrossEntropyLoss()
    optimizer = task.optimizer(model)
    scheduler = task.scheduler(optimizer)
    history: list[tuple[Any, Any, Any]] = []
    clock.start()
    for _epoch in range(task.epochs):
        model.train()
        optimizer.zero_grad(set_to_none=True)
        for index, (inputs, targets) in enumerate(training):
            loss = criterion(model(inputs), targets) / task.accumulation
            loss.backward()
            if (index + 1) % task.accumulation == 0 or index + 1 == len(training):
                norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=task.clip_norm)
                optimizer.step()
                history.append((loss.item() * task.accumulation, scheduler.get_last_lr()[0], norm.item()))
                scheduler.step()
                optimizer.zero_grad(set_to_none=True)
        model.eval()
        total, correct, count = 0.0, 0, 0
        with torch.no_grad():
            for inputs, targets in validation:
                outputs = model(inputs)
                total += criterion(outputs, targets).item() * len(targets)
                correct += (outputs.argmax(1) == targets).sum().item()
                count += len(targets)
        clock.steps = len(history)
        clock.validated(total / count, correct / count)
