"""The loops themselves: torch by hand, at most 15 lines each, one line in another place than in the right one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.utils import clip_grad_norm_
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

Batches = Sequence[tuple[Tensor, Tensor]]
"""Inputs and targets of each batch."""
Held = tuple[Sequence[float | Tensor], Sequence[Tensor]]
"""The losses that were logged, and the answers of the last validation: what is still held when the loop is over."""
Loop = Callable[[nn.Module, Optimizer, LRScheduler, Batches, Batches, int], Held]
Build = Callable[[Callable[[], nn.Module], Callable[[nn.Module], Optimizer]], tuple[nn.Module, Optimizer]]

# fmt: off


def move_before_optimizer(make_model: Callable[[], nn.Module], make_optimizer: Callable[[nn.Module], Optimizer]) -> tuple[nn.Module, Optimizer]:
    model = make_model()
    model.to_empty(device="cpu").apply(reset_parameters)
    optimizer = make_optimizer(model)
    return model, optimizer


def move_after_optimizer(make_model: Callable[[], nn.Module], make_optimizer: Callable[[nn.Module], Optimizer]) -> tuple[nn.Module, Optimizer]:
    model = make_model()
    optimizer = make_optimizer(model)
    model.to_empty(device="cpu").apply(reset_parameters)
    return model, optimizer


def in_order(model: nn.Module, optimizer: Optimizer, scheduler: LRScheduler, train: Batches, validation: Batches, epochs: int) -> Held:
    losses: list[float] = []
    for _ in range(epochs):
        model.train()
        for inputs, targets in train:
            optimizer.zero_grad()
            loss = cross_entropy(model(inputs), targets)
            loss.backward()
            clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
        scheduler.step()
        model.eval()
        with torch.no_grad():
            answers = [model(inputs) for inputs, _ in validation]
    return losses, answers


def zero_grad_after_backward(model: nn.Module, optimizer: Optimizer, scheduler: LRScheduler, train: Batches, validation: Batches, epochs: int) -> Held:
    losses: list[float] = []
    for _ in range(epochs):
        model.train()
        for inputs, targets in train:
            loss = cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.zero_grad()
            clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
        scheduler.step()
        model.eval()
        with torch.no_grad():
            answers = [model(inputs) for inputs, _ in validation]
    return losses, answers


def clip_before_backward(model: nn.Module, optimizer: Optimizer, scheduler: LRScheduler, train: Batches, validation: Batches, epochs: int) -> Held:
    losses: list[float] = []
    for _ in range(epochs):
        model.train()
        for inputs, targets in train:
            optimizer.zero_grad()
            loss = cross_entropy(model(inputs), targets)
            clip_grad_norm_(model.parameters(), 1.0)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        scheduler.step()
        model.eval()
        with torch.no_grad():
            answers = [model(inputs) for inputs, _ in validation]
    return losses, answers


def clip_after_step(model: nn.Module, optimizer: Optimizer, scheduler: LRScheduler, train: Batches, validation: Batches, epochs: int) -> Held:
    losses: list[float] = []
    for _ in range(epochs):
        model.train()
        for inputs, targets in train:
            optimizer.zero_grad()
            loss = cross_entropy(model(inputs), targets)
            loss.backward()
            optimizer.step()
            clip_grad_norm_(model.parameters(), 1.0)
            losses.append(loss.item())
        scheduler.step()
        model.eval()
        with torch.no_grad():
            answers = [model(inputs) for inputs, _ in validation]
    return losses, answers


def schedule_for_each_batch(model: nn.Module, optimizer: Optimizer, scheduler: LRScheduler, train: Batches, validation: Batches, epochs: int) -> Held:
    losses: list[float] = []
    for _ in range(epochs):
        model.train()
        for inputs, targets in train:
            optimizer.zero_grad()
            loss = cross_entropy(model(inputs), targets)
            loss.backward()
            clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
            scheduler.step()
        model.eval()
        with torch.no_grad():
            answers = [model(inputs) for inputs, _ in validation]
    return losses, answers


def never_back_to_train(model: nn.Module, optimizer: Optimizer, scheduler: LRScheduler, train: Batches, validation: Batches, epochs: int) -> Held:
    losses: list[float] = []
    model.train()
    for _ in range(epochs):
        for inputs, targets in train:
            optimizer.zero_grad()
            loss = cross_entropy(model(inputs), targets)
            loss.backward()
            clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
        scheduler.step()
        model.eval()
        with torch.no_grad():
            answers = [model(inputs) for inputs, _ in validation]
    return losses, answers


def validate_with_gradients(model: nn.Module, optimizer: Optimizer, scheduler: LRScheduler, train: Batches, validation: Batches, epochs: int) -> Held:
    losses: list[float] = []
    for _ in range(epochs):
        model.train()
        for inputs, targets in train:
            optimizer.zero_grad()
            loss = cross_entropy(model(inputs), targets)
            loss.backward()
            clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
        scheduler.step()
        model.eval()
        answers = [model(inputs) for inputs, _ in validation]
    return losses, answers


def log_the_tensor(model: nn.Module, optimizer: Optimizer, scheduler: LRScheduler, train: Batches, validation: Batches, epochs: int) -> Held:
    losses: list[Tensor] = []
    for _ in range(epochs):
        model.train()
        for inputs, targets in train:
            optimizer.zero_grad()
            loss = cross_entropy(model(inputs), targets)
            loss.backward()
            clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss)
        scheduler.step()
        model.eval()
        with torch.no_grad():
            answers = [model(inputs) for inputs, _ in validation]
    return losses, answers


# fmt: on


def reset_parameters(module: nn.Module) -> None:
    """Give the parts of a network that was built without values their first ones."""
    if isinstance(module, nn.Linear):
        module.reset_parameters()
