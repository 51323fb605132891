"""The update rules of Adam and its kin."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from training.optim.rule import Settings, State, Updated, one_minus_power, power, shrunk, with_decay


def adamw(
    settings: Settings,
    weights: Sequence[Tensor],
    gradients: Sequence[Tensor],
    states: Sequence[State],
    rate: Tensor,
    momentum: Tensor,
) -> Updated:
    """Adam with decoupled weight decay (Loshchilov and Hutter 2019)."""
    return _adam(settings, shrunk(settings, weights, rate), gradients, states, rate, momentum)


def adam(
    settings: Settings,
    weights: Sequence[Tensor],
    gradients: Sequence[Tensor],
    states: Sequence[State],
    rate: Tensor,
    momentum: Tensor,
) -> Updated:
    """Adam (Kingma and Ba 2015) with weight decay inside the gradient."""
    return _adam(settings, weights, with_decay(settings, weights, gradients), states, rate, momentum)


def nadam(
    settings: Settings,
    weights: Sequence[Tensor],
    gradients: Sequence[Tensor],
    states: Sequence[State],
    rate: Tensor,
    momentum: Tensor,
) -> Updated:
    """Adam with Nesterov's momentum (Dozat 2016), as ``torch.optim.NAdam``."""
    weights, gradients = _decayed(settings, weights, gradients, rate)
    beta, eps = settings["betas"][1], settings["eps"]
    step = states[0]["step"] + 1  # the same for all: they have taken part in the same steps
    log_base = math.log(0.96) * settings["momentum_decay"]
    share = momentum * (1 - 0.5 * power(log_base, step))
    next_share = momentum * (1 - 0.5 * power(log_base, step + 1))
    product = states[0]["mu_product"]
    product = product * share.to(product.dtype)
    so_far = product.to(rate.dtype)
    of_gradient = rate * (1 - share) / (1 - so_far)
    of_average = rate * next_share / (1 - so_far * next_share)
    root = torch.sqrt(one_minus_power(_log(beta), step))
    new_weights: list[Tensor] = []
    new_states: list[State] = []
    for weight, gradient, state in zip(weights, gradients, states, strict=True):
        average, square = _moments(state, gradient, momentum, beta)
        denominator = square.sqrt() / root.to(weight.dtype) + eps
        change = of_gradient.to(weight.dtype) * gradient + of_average.to(weight.dtype) * average
        new_weights.append(weight - change / denominator)
        new_states.append(
            {"step": state["step"] + 1, "mu_product": product.clone(), "exp_avg": average, "exp_avg_sq": square}
        )
    return new_weights, new_states


def radam(
    settings: Settings,
    weights: Sequence[Tensor],
    gradients: Sequence[Tensor],
    states: Sequence[State],
    rate: Tensor,
    momentum: Tensor,
) -> Updated:
    """Rectified Adam (Liu et al. 2020), as ``torch.optim.RAdam``: adapts once the variance is known well enough."""
    weights, gradients = _decayed(settings, weights, gradients, rate)
    beta, eps = settings["betas"][1], settings["eps"]
    step = states[0]["step"] + 1
    rest = one_minus_power(_log(beta), step)
    longest = 2 / (1 - beta) - 1
    length = longest - 2 * step * (1 - rest) / rest
    adapts = length > 5
    known = length.clamp(min=5.0)  # below, the root's argument may be negative; it is not used there
    rectification = torch.sqrt((known - 4) * (known - 2) * longest / ((longest - 4) * (longest - 2) * known))
    size = rate / one_minus_power(torch.log(momentum), step)
    root = rectification * torch.sqrt(rest)
    new_weights: list[Tensor] = []
    new_states: list[State] = []
    for weight, gradient, state in zip(weights, gradients, states, strict=True):
        average, square = _moments(state, gradient, momentum, beta)
        step_of = size.to(weight.dtype) * average
        adapted = step_of * (root.to(weight.dtype) / (square.sqrt() + eps))
        new_weights.append(weight - torch.where(adapts, adapted, step_of))
        new_states.append({"step": state["step"] + 1, "exp_avg": average, "exp_avg_sq": square})
    return new_weights, new_states


def _decayed(
    settings: Settings, weights: Sequence[Tensor], gradients: Sequence[Tensor], rate: Tensor
) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
    if settings["decoupled_weight_decay"]:
        return shrunk(settings, weights, rate), gradients
    return weights, with_decay(settings, weights, gradients)


def _moments(state: State, gradient: Tensor, momentum: Tensor, beta: float) -> tuple[Tensor, Tensor]:
    average, square = state["exp_avg"], state["exp_avg_sq"]
    average = average + (1 - momentum).to(average.dtype) * (gradient - average)
    return average, beta * square + (1 - beta) * gradient * gradient


def _adam(
    settings: Settings,
    weights: Sequence[Tensor],
    gradients: Sequence[Tensor],
    states: Sequence[State],
    rate: Tensor,
    momentum: Tensor,
) -> Updated:
    beta, eps = settings["betas"][1], settings["eps"]
    step = states[0]["step"] + 1  # the same for all: they have taken part in the same steps
    size = rate / one_minus_power(torch.log(momentum), step)
    root = torch.sqrt(one_minus_power(_log(beta), step))
    new_weights: list[Tensor] = []
    new_states: list[State] = []
    for weight, gradient, state in zip(weights, gradients, states, strict=True):
        average, square = _moments(state, gradient, momentum, beta)
        new = {"step": state["step"] + 1, "exp_avg": average, "exp_avg_sq": square}
        largest = square
        if settings["amsgrad"]:
            largest = new["max_exp_avg_sq"] = torch.maximum(state["max_exp_avg_sq"], square)
        denominator = largest.sqrt() / root.to(weight.dtype) + eps
        new_weights.append(weight - size.to(weight.dtype) * average / denominator)
        new_states.append(new)
    return new_weights, new_states


def _log(beta: float) -> float:
    return math.log(beta) if beta else -math.inf
