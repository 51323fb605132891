"""Clipping by value, which torch has for itself alone. Each function returns the norm before clipping.

Clipping by norm is ``nn.utils.clip_grad_norm_``, which returns it, too; with an infinite limit it changes no gradient, unless
the norm is not finite.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn


def clip_value(parameters: Sequence[nn.Parameter], max_value: float) -> Tensor:
    """Limit every element of every gradient to [-max_value, max_value] in place."""
    norm = nn.utils.get_total_norm([parameter.grad for parameter in parameters if parameter.grad is not None])
    nn.utils.clip_grad_value_(parameters, max_value)
    return norm


def clip_value_and_norm(parameters: Sequence[nn.Parameter], max_value: float, max_norm: float) -> Tensor:
    """Clip by value, then by norm: so one element that shot up does not shrink all others through the norm."""
    norm = clip_value(parameters, max_value)
    nn.utils.clip_grad_norm_(parameters, max_norm)
    return norm
