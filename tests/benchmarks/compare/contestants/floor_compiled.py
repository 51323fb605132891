"""The floor with its whole step compiled by hand: gather, forward, backward, clip and AdamW are one graph."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.func import functional_call, grad_and_value
from torch.nn import functional

from tests.benchmarks.compare.contestants.floor import evaluate, prepared
from tests.benchmarks.compare.task import Clock, Task
from training.schedules import make_schedule

BETA2, EPS = 0.999, 1e-8


def train(task: Task, clock: Clock) -> None:
    if task.accumulation != 1:
        raise SystemExit("floor-compiled is written for one batch a step.")
    torch.manual_seed(0)
    model, inputs = prepared(task)
    table = _table(task)
    parameters = {name: parameter.detach() for name, parameter in model.named_parameters()}
    means = {name: torch.zeros_like(value) for name, value in parameters.items()}
    squares = {name: torch.zeros_like(value) for name, value in parameters.items()}
    decay, clip_norm = task.config.optimizer.weight_decay, task.clip_norm

    @torch.compile(fullgraph=True)
    def step(numbers: Tensor, row: Tensor) -> tuple[Tensor, Tensor]:
        rate, beta, first, second = row.unbind()
        some, targets = inputs(numbers)

        def loss_of(weights: dict[str, Tensor]) -> Tensor:
            return functional.cross_entropy(functional_call(model, weights, (some,)), targets)

        gradients, loss = grad_and_value(loss_of)(parameters)
        norm = torch.stack([gradient.square().sum() for gradient in gradients.values()]).sum().sqrt()
        factor = (clip_norm / (norm + 1e-6)).clamp(max=1.0)
        for name, parameter in parameters.items():
            gradient = gradients[name] * factor
            means[name].mul_(beta).add_(gradient * (1 - beta))
            squares[name].mul_(BETA2).add_(gradient.square() * (1 - BETA2))
            spread = squares[name].sqrt() / second + EPS
            parameter.mul_(1 - rate * decay).sub_(rate / first * means[name] / spread)
        return loss, norm

    rows = list(table.unbind())
    losses, norms = [], []
    model.train()
    clock.start()
    for epoch in range(task.epochs):
        model.train()
        order = task.train[torch.randperm(len(task.train))].split(task.batch_size)
        with torch.no_grad():
            for number, batch in enumerate(order, epoch * len(order)):
                loss, norm = step(batch, rows[number])
                losses.append(loss)
                norms.append(norm)
        clock.steps = len(losses)
        clock.validated(*evaluate(model, inputs, task.validation))
    torch.stack([torch.stack(losses), torch.stack(norms)]).numpy()


def _table(task: Task) -> Tensor:
    """float32 (steps, 4): rate, first beta and the two bias corrections of AdamW for each step."""
    schedule = make_schedule(task.config.schedule, task.config.optimizer.lr, task.total_steps, task.steps_per_epoch)
    rows = []
    for step in range(task.total_steps):
        beta = schedule.momentum(step)
        assert beta is not None
        rows.append((schedule.lr(step), beta, 1 - beta ** (step + 1), math.sqrt(1 - BETA2 ** (step + 1))))
    return torch.tensor(rows)
