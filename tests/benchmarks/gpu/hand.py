"""The loop a person writes who wants all of the GPU, with torch's public parts and nothing beside.

Samples resident as bytes, gathered by number on the device; channels-last, bf16 autocast, a compiled network, the fused
SGD, matrix products in TF32, cuDNN's choice by timing; nothing is asked of the device between two validations. No guard,
no log, no norm, no checkpoint. Our engine leaves cuDNN's choice by timing out, because it differs from run to run.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.benchmarks.compare.task import Clock, Task, load_task
from training.schedules import make_schedule


def run(folder: Path, mode: str) -> dict[str, Any]:
    """Train the job in ``folder`` with a network compiled in ``mode``."""
    device = json.loads((folder / "task.json").read_text())["config"]["precision"]["device"]
    task = load_task(folder)
    clock = Clock(task.warm_up_epochs)
    train(task, clock, torch.device(device), mode)
    return clock.record()


class Inputs:
    """The samples of ``numbers`` as the network wants them."""

    def __init__(self, task: Task, device: torch.device) -> None:
        self.samples, self.targets = task.samples.to(device), task.targets.to(device)
        mean, std = torch.tensor(task.mean, device=device), torch.tensor(task.std, device=device)
        self.scale, self.shift = 1 / (std * 255), -mean / std

    def __call__(self, numbers: Tensor) -> tuple[Tensor, Tensor]:
        images = self.samples.index_select(0, numbers).to(torch.bfloat16)
        inputs = images.mul_(self.scale).add_(self.shift).permute(0, 3, 1, 2)
        return inputs, self.targets.index_select(0, numbers)


def train(task: Task, clock: Clock, device: torch.device, mode: str) -> None:
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.benchmark = True
    model = task.model().to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    network = torch.compile(model, mode=mode)
    inputs, numbers = Inputs(task, device), task.train.to(device)
    section = task.config.optimizer
    optimizer = torch.optim.SGD(
        model.parameters(),
        lr=section.lr,
        momentum=section.momentum,  # type: ignore[union-attr]
        nesterov=section.nesterov,  # type: ignore[union-attr]
        weight_decay=section.weight_decay,
        fused=True,
    )
    schedule = make_schedule(task.config.schedule, section.lr, task.total_steps, task.steps_per_epoch)
    rates = [schedule.lr(step) for step in range(task.total_steps)]
    losses: list[Tensor] = []
    clock.start()
    for _epoch in range(task.epochs):
        model.train()
        for batch in numbers[torch.randperm(len(numbers), device=device)].split(task.batch_size):
            optimizer.param_groups[0]["lr"] = rates[len(losses)]
            optimizer.zero_grad(set_to_none=True)
            some, targets = inputs(batch)
            with torch.autocast(device.type, dtype=torch.bfloat16):
                loss = functional.cross_entropy(network(some).float(), targets)  # type: ignore[no-untyped-call]
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        clock.steps = len(losses)
        clock.validated(*evaluate(model, inputs, task.validation.to(device), 2 * task.batch_size))
    torch.stack(losses).cpu()


@torch.inference_mode()
def evaluate(model: nn.Module, inputs: Inputs, numbers: Tensor, size: int) -> tuple[float, float]:
    """Mean loss and accuracy over ``numbers``."""
    model.eval()
    loss, correct = torch.zeros(2, device=numbers.device).unbind()
    for batch in numbers.split(size):
        some, targets = inputs(batch)
        with torch.autocast(numbers.device.type, dtype=torch.bfloat16):
            outputs = model(some).float()
        loss = loss + functional.cross_entropy(outputs, targets, reduction="sum")
        correct = correct + (outputs.argmax(1) == targets).sum()
    return loss.item() / len(numbers), correct.item() / len(numbers)
