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


@torch.no_grad()
def clip_(parameters: Iterable[nn.Parameter], norm: Tensor, max_norm: float) -> None:
    """Scale the gradients in place by min(1, max_norm / (norm + 1e-6)), as ``torch.nn.utils.clip_grad_norm_`` does.

    ``norm`` is their total norm. One that is not finite spreads NaN over all gradients: ``Guard`` skips that step.
    On the processor, where the norm can be looked at, gradients that need no scaling are left alone: a factor of 1
    changes no bit, and the pass over them takes a quarter of the time of AdamW's update.
    """
    if norm.device.type == "cpu" and norm.item() * CERTAIN + 1e-6 <= max_norm:
        return
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    torch._foreach_mul_(gradients, torch.clamp(max_norm / (norm + 1e-6), max=1.0))


def clip_value_(parameters: Iterable[nn.Parameter], max_value: float) -> None:
    """Limit every gradient element to [-max_value, max_value] in place."""
    torch.nn.utils.clip_grad_value_(parameters, max_value)


def clip_gradients_(
    parameters: Iterable[nn.Parameter], norm: Tensor, max_norm: float | None, max_value: float | None
) -> None:
    """Clip by value, then by norm; None or 0 leaves one out. ``norm`` is ``gradient_norm`` before any clipping.

    Value comes first so that one element that shot up does not shrink all others through the norm. When it is in use
    the norm is measured again, because the first one no longer describes the gradients.
    """
    parameters = list(parameters)
    if max_value:
        clip_value_(parameters, max_value)
    if max_norm:
        clip_(parameters, gradient_norm(parameters) if max_value else norm, max_norm)
