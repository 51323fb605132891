"""The optimizers' updates as functions of tensors, for a step that is compiled as one graph.

torch's fused kernels cannot be fused with anything else, and its other forms read rates and step counts as plain numbers,
which a compiled graph would take for constants. These are the same formulas, equal up to rounding; weights, moments and
step counts are the optimizer's own.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from training.optim.adam_rules import adam, adamw, nadam, radam
from training.optim.muon import Muon, orthogonal, shape_factor
from training.optim.rule import Rule, Settings, State, Updated, power, shrunk, wide, with_decay

__all__ = ["Rule", "State", "adafactor", "adagrad", "muon", "rmsprop", "rule_of", "sgd", "wide"]


def rule_of(optimizer: torch.optim.Optimizer) -> Rule | None:
    """The update that ``optimizer`` makes; None where it is not written down here."""
    kind = type(optimizer)
    return _RULES.get(getattr(kind, "steps_as", kind))


def sgd(
    settings: Settings,
    weights: Sequence[Tensor],
    gradients: Sequence[Tensor],
    states: Sequence[State],
    rate: Tensor,
    momentum: Tensor,
) -> Updated:
    """Stochastic gradient descent with torch's form of momentum and of Nesterov's; states are empty without momentum."""
    new_weights: list[Tensor] = []
    new_states: list[State] = []
    decayed = with_decay(settings, weights, gradients)
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


def adagrad(
    settings: Settings,
    weights: Sequence[Tensor],
    gradients: Sequence[Tensor],
    states: Sequence[State],
    rate: Tensor,
    momentum: Tensor,
) -> Updated:
    """Adagrad (Duchi et al. 2011), as ``torch.optim.Adagrad``."""
    size = rate / (1 + states[0]["step"].to(rate.dtype) * settings["lr_decay"])
    new_weights: list[Tensor] = []
    new_states: list[State] = []
    decayed = with_decay(settings, weights, gradients)
    for weight, gradient, state in zip(weights, decayed, states, strict=True):
        total = state["sum"] + gradient * gradient
        new_weights.append(weight - size.to(weight.dtype) * gradient / (total.sqrt() + settings["eps"]))
        new_states.append({"step": state["step"] + 1, "sum": total})
    return new_weights, new_states


def rmsprop(
    settings: Settings,
    weights: Sequence[Tensor],
    gradients: Sequence[Tensor],
    states: Sequence[State],
    rate: Tensor,
    momentum: Tensor,
) -> Updated:
    """RMSprop (Hinton 2012), as ``torch.optim.RMSprop``; without momentum the states hold no buffer for it."""
    alpha, eps = settings["alpha"], settings["eps"]
    new_weights: list[Tensor] = []
    new_states: list[State] = []
    decayed = with_decay(settings, weights, gradients)
    for weight, gradient, state in zip(weights, decayed, states, strict=True):
        square = alpha * state["square_avg"] + (1 - alpha) * gradient * gradient
        new = {"step": state["step"] + 1, "square_avg": square}
        spread = square
        if settings["centered"]:
            mean = new["grad_avg"] = state["grad_avg"] + (1 - alpha) * (gradient - state["grad_avg"])
            spread = square - mean * mean
        direction = gradient / (spread.sqrt() + eps)
        if "momentum_buffer" in state:
            direction = new["momentum_buffer"] = momentum.to(weight.dtype) * state["momentum_buffer"] + direction
        new_weights.append(weight - rate.to(weight.dtype) * direction)
        new_states.append(new)
    return new_weights, new_states


def adafactor(
    settings: Settings,
    weights: Sequence[Tensor],
    gradients: Sequence[Tensor],
    states: Sequence[State],
    rate: Tensor,
    momentum: Tensor,
) -> Updated:
    """Adafactor (Shazeer and Stern 2018), as ``torch.optim.Adafactor``: second moments by rows and columns."""
    step = states[0]["step"].to(rate.dtype) + 1
    share = power(settings["beta2_decay"], torch.log(step))
    relative = torch.minimum(rate, step.rsqrt())
    smallest, least = settings["eps"]
    new_weights: list[Tensor] = []
    new_states: list[State] = []
    before = weights
    for weight, decayed, gradient, state in zip(before, shrunk(settings, before, rate), gradients, states, strict=True):
        floor = torch.finfo(weight.dtype).eps if smallest is None else smallest
        size = relative.to(weight.dtype) * _root_mean_square(weight).clamp(min=least)
        new: State = {"step": state["step"] + 1}
        weigh = share.to(weight.dtype)
        if gradient.ndim > 1:
            squares = gradient * gradient
            row, column = squares.mean(-1, keepdim=True), squares.mean(-2, keepdim=True)
            row = new["row_var"] = state["row_var"] + weigh * (row - state["row_var"])
            column = new["col_var"] = state["col_var"] + weigh * (column - state["col_var"])
            variance = row @ column / row.mean(-2, keepdim=True).clamp(min=floor)
        else:
            variance = new["variance"] = state["variance"] + weigh * (gradient * gradient - state["variance"])
        update = variance.clamp(min=floor * floor).rsqrt() * gradient
        clip = (_root_mean_square(update) / settings["d"]).clamp(min=1.0)
        new_weights.append(decayed - size / clip * update)
        new_states.append(new)
    return new_weights, new_states


def muon(
    settings: Settings,
    weights: Sequence[Tensor],
    gradients: Sequence[Tensor],
    states: Sequence[State],
    rate: Tensor,
    momentum: Tensor,
) -> Updated:
    """``training.optim.muon``: orthogonal steps, or AdamW's in the groups that have betas."""
    if "betas" in settings:
        return adamw({**settings, "amsgrad": False}, weights, gradients, states, rate, momentum)
    new_weights: list[Tensor] = []
    new_states: list[State] = []
    for weight, decayed, gradient, state in zip(
        weights, shrunk(settings, weights, rate), gradients, states, strict=True
    ):
        share = momentum.to(weight.dtype)
        buffer = state["momentum_buffer"] + (1 - share) * (gradient - state["momentum_buffer"])
        direction = gradient + share * (buffer - gradient) if settings["nesterov"] else buffer
        direction = orthogonal(direction.reshape(len(direction), -1), settings["ns_steps"]).reshape(weight.shape)
        size = rate * shape_factor(settings["adjust_lr_fn"], weight.shape)
        new_weights.append(decayed - size.to(weight.dtype) * direction)
        new_states.append({"momentum_buffer": buffer})
    return new_weights, new_states


def _root_mean_square(values: Tensor) -> Tensor:
    return torch.linalg.vector_norm(values) / values.numel() ** 0.5


_RULES: dict[type[torch.optim.Optimizer], Rule] = {
    torch.optim.AdamW: adamw,
    torch.optim.Adam: adam,
    torch.optim.SGD: sgd,
    torch.optim.NAdam: nadam,
    torch.optim.RAdam: radam,
    torch.optim.Adagrad: adagrad,
    torch.optim.RMSprop: rmsprop,
    torch.optim.Adafactor: adafactor,
    Muon: muon,
}
