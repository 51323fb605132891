"""``torch.nn.utils.clip_grad_norm_`` to the bit, without its sorting of gradients by device and dtype, which takes as long again
for a small model."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

CERTAIN = 1.00001
"""More than the rounding of float32 can take a factor of 1 down to: below it, the factor is certainly 1."""


def gradient_norm(parameters: Iterable[nn.Parameter]) -> Tensor:
    """The 2-norm of all gradients together: 0-dim, on their device."""
    return _total_norm(_gradients(parameters))


@torch.no_grad()
def clip_norm(parameters: Iterable[nn.Parameter], max_norm: float) -> Tensor:
    """Scale all gradients in place so that their norm is at most ``max_norm``; returns the norm before.

    A norm that is not finite spreads NaN over them: such a step must not be made.
    """
    gradients = _gradients(parameters)
    norm = _total_norm(gradients)
    if norm.device.type == "cpu" and norm.item() * CERTAIN + 1e-6 <= max_norm:
        return norm  # a factor of 1 changes no bit; elsewhere looking at the norm would wait for the device
    torch._foreach_mul_(gradients, torch.clamp(max_norm / (norm + 1e-6), max=1.0))
    return norm


def _gradients(parameters: Iterable[nn.Parameter]) -> list[Tensor]:
    return [parameter.grad for parameter in parameters if parameter.grad is not None]


def _total_norm(gradients: list[Tensor]) -> Tensor:
    return torch.linalg.vector_norm(torch.stack(torch._foreach_norm(gradients))) if gradients else torch.zeros(())
