"""What an update rule is: an optimizer's formula as a function of tensors, for ``optim.rules``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

State = dict[str, Tensor]
Settings = Mapping[str, Any]
"""A parameter group's plain numbers. What a schedule changes at each step, the rate and the momentum (or Adam's first
beta), is passed beside it as 0-dim tensors."""

Updated = tuple[list[Tensor], list[State]]

Rule = Callable[[Settings, Sequence[Tensor], Sequence[Tensor], Sequence[State], Tensor, Tensor], Updated]
"""(settings, weights, gradients, states, rate, momentum) -> the new weights and states, nothing in place. All parameters of
one call have taken part in the same steps."""


def wide(device: torch.device) -> torch.dtype:
    """The number format of rates and momenta: float64, as in torch's own optimizers, where ``device`` has it."""
    return torch.float32 if device.type == "mps" else torch.float64


def with_decay(settings: Settings, weights: Sequence[Tensor], gradients: Sequence[Tensor]) -> Sequence[Tensor]:
    """The gradients with weight decay inside (L2)."""
    decay = settings["weight_decay"]
    if not decay:
        return gradients
    return [gradient + decay * weight for gradient, weight in zip(gradients, weights, strict=True)]


def shrunk(settings: Settings, weights: Sequence[Tensor], rate: Tensor) -> Sequence[Tensor]:
    """The weights after decoupled weight decay."""
    if not settings["weight_decay"]:
        return weights
    shrink = 1 - rate * settings["weight_decay"]
    return [weight * shrink.to(weight.dtype) for weight in weights]


def power(log_base: Tensor | float, exponent: Tensor) -> Tensor:
    """base ** exponent, 0-dim, by ``exp``, which inductor keeps instead of reckoning it anew for every weight (measured on
    a small MLP: an update took 7 times as long with ``pow``)."""
    return torch.exp(exponent.to(wide(exponent.device)) * log_base)


def one_minus_power(log_base: Tensor | float, exponent: Tensor) -> Tensor:
    """1 - base ** exponent, 0-dim.

    On the processor in float64 by ``exp`` (see ``power``). Elsewhere by ``expm1``, which is exact in float32.
    """
    if exponent.device.type == "cpu":
        return 1 - torch.exp(exponent.double() * log_base)
    return -torch.expm1(exponent * log_base)
