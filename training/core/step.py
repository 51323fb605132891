"""The step: what happens, and in which order, each time the weights change."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn


def train_step(
    model: Callable[..., Tensor],
    parameters: Sequence[nn.Parameter],
    loss: Callable[..., Tensor],
    optimizer: torch.optim.Optimizer,
    micro_batches: Iterable[Any],
    lr: float,
    scaler: torch.amp.GradScaler,
    autocast: Callable[[], Any],
    clip: Callable[..., Tensor],
    guard: Callable[..., Any],
) -> tuple[Tensor, Tensor, Any]:
    """Make one optimizer step; return its mean loss, the gradient norm before clipping, and whether the weights changed.

    Each micro-batch is inputs, targets and what all losses of this step are divided by (its samples, pixels or tokens)."""
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
        group.update({"betas": (momentum, group["betas"][1])} if "betas" in group else {"momentum": momentum})
