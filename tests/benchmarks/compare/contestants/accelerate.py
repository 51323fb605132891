"""Accelerate: the textbook loop with its ``prepare``, ``accumulate``, ``backward`` and ``clip_grad_norm_``."""

from __future__ import annotations

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from tests.benchmarks.compare.task import Clock, Task


def train(task: Task, clock: Clock) -> None:
    torch.manual_seed(0)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=task.accumulation)
    model = task.model()
    optimizer = task.optimizer(model)
    # It is stepped with each batch and passes on those that end a window.
    model, optimizer, training, validation, scheduler = accelerator.prepare(
        model, optimizer, task.loader("train"), task.loader("validation"), task.scheduler(optimizer)
    )
    criterion = nn.CrossEntropyLoss()
    history: list[tuple[Tensor, float, Tensor]] = []
    clock.start()
    for _epoch in range(task.epochs):
        model.train()
        for inputs, targets in training:
            with accelerator.accumulate(model):
                loss = criterion(model(inputs), targets)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    norm = accelerator.clip_grad_norm_(model.parameters(), task.clip_norm)
                    history.append((loss.detach(), scheduler.get_last_lr()[0], norm))
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
        model.eval()
        total, correct, count = torch.zeros(()), torch.zeros((), dtype=torch.int64), 0
        with torch.no_grad():
            for inputs, targets in validation:
                outputs = model(inputs)
                total += criterion(outputs, targets) * len(targets)
                correct += (outputs.argmax(1) == targets).sum()
                count += len(targets)
        clock.steps = len(history)
        clock.validated(total.item() / count, correct.item() / count)
