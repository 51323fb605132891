"""The bare floor: what an engine cannot leave out, written by hand with torch's public parts and nothing beside.

Samples resident as bytes, gathered by number, cast once; channels-last; forward, backward, one norm; the clip folded into
the fused optimizer through ``grad_scale``; rate and momentum from a table. No guard, no logging, no checkpoints. Losses
and norms of all steps are kept as tensors, as every contestant has to have them. As many threads as our engine takes.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from tests.benchmarks.compare.task import Clock, Task
from tests.training.known_facts import sample_facts
from training.engine.device import choose_threads, wants_channels_last
from training.schedules import make_schedule

EVALUATION_SIZE = 512


class Inputs:
    """The samples of ``numbers`` as the model wants them."""

    def __init__(self, task: Task, channels_last: bool) -> None:
        self.samples, self.targets = task.samples, task.targets
        mean, std = torch.tensor(task.mean), torch.tensor(task.std)
        full = 255.0 if task.pictures else 1.0
        repeats = task.samples.shape[1] * task.samples.shape[2] if task.pictures else 1
        self.scale, self.shift = (1 / (std * full)).repeat(repeats), (-mean / std).repeat(repeats)
        self.pictures, self.channels_last = task.pictures, channels_last

    def __call__(self, numbers: Tensor) -> tuple[Tensor, Tensor]:
        some = self.samples.index_select(0, numbers)
        inputs = some.flatten(1).to(torch.float32, copy=True).mul_(self.scale).add_(self.shift).view(some.shape)
        inputs = inputs.permute(0, 3, 1, 2) if self.pictures else inputs
        if self.pictures and not self.channels_last:
            inputs = inputs.clone(memory_format=torch.contiguous_format)
        return inputs, self.targets.index_select(0, numbers)


def prepared(task: Task) -> tuple[nn.Module, Inputs]:
    """On as many threads as our engine would take, in the memory format it would take."""
    model = task.model()
    shape = tuple(task.samples.shape[1:])
    channels_first = (shape[2], *shape[:2]) if task.pictures else shape
    torch.set_num_threads(choose_threads(None, model, sample_facts(channels_first), task.batch_size))
    if not task.pictures or not wants_channels_last(
        "auto", model, sample_facts(channels_first), task.batch_size, "cpu"
    ):
        return model, Inputs(task, channels_last=False)
    return model.to(memory_format=torch.channels_last), Inputs(task, channels_last=True)


def train(task: Task, clock: Clock) -> None:
    torch.manual_seed(0)
    model, inputs = prepared(task)
    section = task.config.optimizer
    optimizer = torch.optim.AdamW(model.parameters(), lr=section.lr, weight_decay=section.weight_decay, fused=True)
    group, parameters = optimizer.param_groups[0], list(model.parameters())
    schedule = make_schedule(task.config.schedule, section.lr, task.total_steps, task.steps_per_epoch)
    table = [(schedule.lr(step), (schedule.momentum(step), 0.999)) for step in range(task.total_steps)]
    numbers, losses, norms = task.train, [], []
    clock.start()
    for epoch in range(task.epochs):
        model.train()
        order = numbers[torch.randperm(len(numbers))].split(task.batch_size * task.accumulation)
        for step, window in enumerate(order, epoch * len(order)):
            group["lr"], group["betas"] = table[step]
            optimizer.zero_grad()
            loss = _accumulate(model, inputs, window, task.batch_size)
            norm = nn.utils.get_total_norm([parameter.grad for parameter in parameters])  # type: ignore[misc]
            optimizer.grad_scale = ((norm + 1e-6) / task.clip_norm).clamp_(min=1.0)  # type: ignore[attr-defined]
            optimizer.step()
            losses.append(loss)
            norms.append(norm)
        clock.steps = len(losses)
        clock.validated(*evaluate(model, inputs, task.validation))
    torch.stack([torch.stack(losses), torch.stack(norms)]).numpy()


def _accumulate(model: nn.Module, inputs: Inputs, window: Tensor, batch_size: int) -> Tensor:
    """Gradients of the mean over the window; returns that mean."""
    if len(window) <= batch_size:
        some, targets = inputs(window)
        loss = functional.cross_entropy(model(some), targets)
        loss.backward()
        return loss.detach()
    total = torch.zeros(())
    for batch in window.split(batch_size):
        some, targets = inputs(batch)
        loss = functional.cross_entropy(model(some), targets, reduction="sum") / len(window)
        loss.backward()
        total += loss.detach()
    return total


@torch.inference_mode()
def evaluate(model: Callable[[Tensor], Tensor], inputs: Inputs, numbers: Tensor) -> tuple[float, float]:
    """Mean loss and accuracy over ``numbers``."""
    if isinstance(model, nn.Module):
        model.eval()
    loss, correct = torch.zeros(()), torch.zeros((), dtype=torch.int64)
    for some in numbers.split(EVALUATION_SIZE):
        batch, targets = inputs(some)
        outputs = model(batch)
        loss += functional.cross_entropy(outputs, targets, reduction="sum")
        correct += (outputs.argmax(1) == targets).sum()
    return loss.item() / len(numbers), correct.item() / len(numbers)
