"""Gradient norm and clipping, without waiting for the device."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

CERTAIN = 1.00001
"""More than the rounding of float32 can take a factor of 1 down to: below it, the factor is certainly 1."""


def gradient_norm(parameters: Iterable[nn.Parameter]) -> Tensor:
    """Total 2-norm of all gradients: 0-dim, on the first gradient's device; 0 where there is no gradient at all.

    The bits of ``torch.nn.utils.get_total_norm`` without its sorting by device and type, which costs as much again for a
    small model: a run's gradients lie on one device.
    """
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    if not gradients:
        return torch.zeros(())
    return torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients)))


def clip_value_(parameters: Iterable[nn.Parameter], max_value: float) -> None:
    """Limit every gradient element to [-max_value, max_value] in place."""
    torch.nn.utils.clip_grad_value_(parameters, max_value)


@torch.no_grad()
def clip_gradients_(
    parameters: Iterable[nn.Parameter], norm: Tensor, max_norm: float | None, max_value: float | None
) -> None:
    """Clip by value, then by norm, in place; None or 0 leaves one out. ``norm`` is ``gradient_norm`` before any clipping.

    Value comes first so that one element that shot up does not shrink all others through the norm. When it is in use
    the norm is measured again, because the first one no longer describes the gradients. By norm the bits are those of
    ``torch.nn.utils.clip_grad_norm_``: all gradients times min(1, max_norm / (norm + 1e-6)). A norm that is not finite spreads
    NaN over them: ``Guard`` skips that step. On the CPU, where the norm can be looked at, gradients that need no scaling are
    left alone: a factor of 1 changes no bit.
    """
    parameters = list(parameters)
    if max_value:
        clip_value_(parameters, max_value)
    if not max_norm:
        return
    norm = gradient_norm(parameters) if max_value else norm
    if norm.device.type == "cpu" and norm.item() * CERTAIN + 1e-6 <= max_norm:
        return
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    torch._foreach_mul_(gradients, torch.clamp(max_norm / (norm + 1e-6), max=1.0))
