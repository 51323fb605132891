"""The step: what happens, and in which order, each time the weights change."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def train_step(
    model, parameters, loss, optimizer, micro_batches, lr: float, *, scaler, autocast, clip, guard
) -> tuple[Tensor, Tensor, Any]:
    """Make one optimizer step over ``micro_batches`` of inputs, targets and what all their losses are divided by (the step's
    samples, pixels or tokens); return its mean loss, the gradient norm before clipping, and whether the weights changed."""
    for group in optimizer.param_groups:
        group["lr"] = lr * group.get("lr_scale", 1.0)
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


def set_momentum(optimizer: torch.optim.Optimizer, momentum: float) -> None:
    """Set the momentum of the next step, which for Adam and its kin is the first of ``betas``."""
    for group in optimizer.param_groups:
        group.update({"betas": (momentum, group["betas"][1])} if "betas" in group else {"momentum": momentum})
