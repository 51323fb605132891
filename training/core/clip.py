"""Gradient norm and clipping. Each function returns the norm before clipping."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn


def gradient_norm(parameters: Iterable[nn.Parameter]) -> Tensor:
    """The 2-norm of all gradients together: 0-dim, on their device.

    The bits of ``torch.nn.utils.get_total_norm``, without its sorting by device and dtype, which takes as long again for a small
    model.
    """
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    return torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients))) if gradients else torch.zeros(())


@torch.no_grad()
def clip_norm(parameters: Iterable[nn.Parameter], max_norm: float) -> Tensor:
    """Scale all gradients in place so that their norm is at most ``max_norm``, with the bits of ``torch.nn.utils.clip_grad_norm_``.

    A norm that is not finite spreads NaN over them: such a step must not be made.
    """
    norm = gradient_norm(parameters := list(parameters))
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    torch._foreach_mul_(gradients, torch.clamp(max_norm / (norm + 1e-6), max=1.0))
    return norm


def clip_value(parameters: Iterable[nn.Parameter], max_value: float) -> Tensor:
    """Limit every element of every gradient to [-max_value, max_value] in place."""
    norm = gradient_norm(parameters := list(parameters))
    nn.utils.clip_grad_value_(parameters, max_value)
    return norm


def clip_value_and_norm(parameters: Iterable[nn.Parameter], max_value: float, max_norm: float) -> Tensor:
    """Clip by value, then by norm: so one element that shot up does not shrink all others through the norm."""
    norm = clip_value(parameters := list(parameters), max_value)
    clip_norm(parameters, max_norm)
    return norm
