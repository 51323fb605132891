"""The optimizers' updates as functions of tensors, for a step that is compiled as one graph.

torch's fused kernels cannot be fused with anything else, and its other forms read rates and step counts as plain numbers,
which a compiled graph would take for constants. These are the same formulas (torch.optim.AdamW, Adam, SGD), equal up to
rounding; weights, moments and step counts are the optimizer's own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

State = dict[str, Tensor]
Settings = Mapping[str, Any]
"""A parameter group's plain numbers. What a schedule changes at each step, the rate and the momentum (or Adam's first
beta), is passed beside it as 0-dim tensors."""

Rule = Callable[
    [Settings, Sequence[Tensor], Sequence[Tensor], Sequence[State], Tensor, Tensor],
    tuple[list[Tensor], list[State]],
]
"""(settings, weights, gradients, states, rate, momentum) -> the new weights and states, nothing in place."""


def rule_of(optimizer: torch.optim.Optimizer) -> Rule | None:
    """The update that ``optimizer`` makes; None where it is not written down here."""
    return {torch.optim.AdamW: adamw, torch.optim.Adam: adam, torch.optim.SGD: sgd}.get(type(optimizer))


def wide(device: torch.device) -> torch.dtype:
    """The number format of rates and momenta: float64, as in torch's own optimizers, where ``device`` has it."""
    return torch.float32 if device.type == "mps" else torch.float64


def adamw(
    settings: Settings,
    weights: Sequence[Tensor],
    gradients: Sequence[Tensor],
    states: Sequence[State],
    rate: Tensor,
    momentum: Tensor,
) -> tuple[list[Tensor], list[State]]:
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019)."""
    shrink = 1 - rate * settings["weight_decay"]
    decayed = [weight * shrink.to(weight.dtype) for weight in weights] if settings["weight_decay"] else weights
    return _adam(settings, decayed, gradients, states, rate, momentum)


def adam(
    settings: Settings,
    weights: Sequence[Tensor],
    gradients: Sequence[Tensor],
    states: Sequence[State],
    rate: Tensor,
    momentum: Tensor,
) -> tuple[list[Tensor], list[State]]:
    """Adam (Kingma and Ba 2015) with weight decay inside the gradient."""
    return _adam(settings, weights, _with_decay(settings, weights, gradients), states, rate, momentum)


def sgd(
    settings: Settings,
    weights: Sequence[Tensor],
    gradients: Sequence[Tensor],
    states: Sequence[State],
    rate: Tensor,
    momentum: Tensor,
) -> tuple[list[Tensor], list[State]]:
    """Stochastic gradient descent with torch's form of momentum and of Nesterov's; states are empty without momentum."""
    new_weights: list[Tensor] = []
    new_states: list[State] = []
    decayed = _with_decay(settings, weights, gradients)
    for weight, gradient, state in zip(weights, decayed, states, strict=True):
        direction = gradient
        if state:
            share = momentum.to(gradient.dtype)
            buffer = state["momentum_buffer"] * share + gradient
            direction = gradient + share * buffer if settings["nesterov"] else buffer
            state = {"momentum_buffer": buffer}
        new_weights.append(weight - rate.to(weight.dtype) * direction)
        new_states.append(state)
    return new_weights, new_states


def _with_decay(settings: Settings, weights: Sequence[Tensor], gradients: Sequence[Tensor]) -> Sequence[Tensor]:
    decay = settings["weight_decay"]
    if not decay:
        return gradients
    return [gradient + decay * weight for gradient, weight in zip(gradients, weights, strict=True)]


def _adam(
    settings: Settings,
    weights: Sequence[Tensor],
    gradients: Sequence[Tensor],
    states: Sequence[State],
    rate: Tensor,
    momentum: Tensor,
) -> tuple[list[Tensor], list[State]]:
    beta, eps = settings["betas"][1], settings["eps"]
    step = states[0]["step"] + 1  # the same for all: they have taken part in the same steps
    size = rate / _one_minus_power(torch.log(momentum), step)
    root = torch.sqrt(_one_minus_power(math.log(beta) if beta else -math.inf, step))
    rest = 1 - momentum
    new_weights: list[Tensor] = []
    new_states: list[State] = []
    for weight, gradient, state in zip(weights, gradients, states, strict=True):
        average, square = state["exp_avg"], state["exp_avg_sq"]
        average = average + rest.to(average.dtype) * (gradient - average)
        square = beta * square + (1 - beta) * gradient * gradient
        new = {"step": state["step"] + 1, "exp_avg": average, "exp_avg_sq": square}
        largest = square
        if settings["amsgrad"]:
            largest = new["max_exp_avg_sq"] = torch.maximum(state["max_exp_avg_sq"], square)
        denominator = largest.sqrt() / root.to(weight.dtype) + eps
        new_weights.append(weight - size.to(weight.dtype) * average / denominator)
        new_states.append(new)
    return new_weights, new_states


def _one_minus_power(log_base: Tensor | float, exponent: Tensor) -> Tensor:
    """1 - base ** exponent, 0-dim.

    On the processor in float64 by ``exp``, which inductor keeps instead of reckoning it anew for every weight (measured
    on a small MLP: the update took 7 times as long with ``pow``). Elsewhere by ``expm1``, which is exact in float32.
    """
    if exponent.device.type == "cpu":
        return 1 - torch.exp(exponent.double() * log_base)
    return -torch.expm1(exponent * log_base)
