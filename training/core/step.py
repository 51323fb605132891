"""The step: what happens, and in which order, each time the weights change."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager

import torch
from torch import Tensor, nn


def train_step(
    model: Callable[[Tensor], Tensor],
    parameters: Iterable[nn.Parameter],
    loss: Callable[[Tensor, Tensor, float | Tensor], Tensor],
    optimizer: torch.optim.Optimizer,
    micro_batches: Iterable[tuple[Tensor, Tensor, float | Tensor]],
    lr: float,
    *,
    scaler: torch.amp.GradScaler,
    autocast: Callable[[], AbstractContextManager[object]],
    clip: Callable[[Iterable[nn.Parameter]], Tensor],
    guard: Callable[[Callable[[], object], Tensor], bool | Tensor],
) -> tuple[Tensor, Tensor, bool | Tensor]:
    """Make one optimizer step; return its mean loss, the gradient norm before clipping, and whether the weights changed.

    Each micro-batch is inputs, targets and what all losses of this step are divided by (its samples, pixels or tokens). So the
    gradients add up to that of the mean over the step, however short its last micro-batch is.
    """
    set_lr(optimizer, lr)
    optimizer.zero_grad(set_to_none=True)
    total = torch.zeros(())
    for inputs, targets, weight in micro_batches:
        with autocast():
            outputs = model(inputs)
        part = loss(outputs, targets, weight)
        scaler.scale(part).backward()
        total = total + part.detach()
    scaler.unscale_(optimizer)  # before the norm is measured, or it would be that of the scaled gradients
    norm = clip(parameters)
    stepped = guard(optimizer.step, norm)  # not at all where the norm is not finite
    scaler.update()
    return total, norm, stepped


def set_lr(optimizer: torch.optim.Optimizer, lr: float) -> None:
    """Set the learning rate of the next step, times the factor of each parameter group that has one."""
    for group in optimizer.param_groups:
        group["lr"] = lr * group.get("lr_scale", 1.0)


def set_momentum(optimizer: torch.optim.Optimizer, momentum: float) -> None:
    """Set the momentum of the next step, which for Adam and its kin is the first of ``betas``."""
    for group in optimizer.param_groups:
        if "betas" in group:
            group["betas"] = (momentum, group["betas"][1])
        else:
            group["momentum"] = momentum
