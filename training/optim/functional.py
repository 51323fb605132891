"""Adam, AdamW, SGD and Adafactor as functions of tensors, nothing in place, equal to torch's up to rounding.

For a step that is one graph (``engine.compile``), where torch's own functions do not serve: of those of Adam, inductor reckons
the powers of the betas again for every weight (a compiled small MLP took 17% longer), SGD's takes the momentum as a plain
number, which a graph holds for good though schedules change it, and Adafactor's waits for the device. Other optimizers make
their own step behind such a graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

ParameterState = dict[str, Tensor]
"""What an optimizer keeps of one parameter."""


class Group(NamedTuple):
    """A parameter group at one step. All its parameters have taken part in the same steps."""

    settings: Mapping[str, Any]
    """Plain numbers; what a schedule changes at each step stands beside them."""
    weights: Sequence[Tensor]
    gradients: Sequence[Tensor]
    states: Sequence[ParameterState]
    rate: Tensor
    """0-dim, and so is ``momentum``, Adam's first beta."""
    momentum: Tensor


Updated = tuple[list[Tensor], list[ParameterState]]
Functional = Callable[[Group], Updated]
"""The new weights and states."""


def find_functional(optimizer: torch.optim.Optimizer) -> Functional | None:
    """The step that ``optimizer`` makes; None where it is not written down here."""
    return _FUNCTIONALS.get(type(optimizer))


def wide_dtype(device: torch.device) -> torch.dtype:
    """The number format of rates and momenta: float64, as in torch's own optimizers, where ``device`` has it."""
    return torch.float32 if device.type == "mps" else torch.float64


def adam(group: Group) -> Updated:
    """Adam (Kingma and Ba 2015), with weight decay in the gradient or decoupled (AdamW, Loshchilov and Hutter 2019)."""
    settings, weights, gradients, states, rate, momentum = group
    if settings["decoupled_weight_decay"]:
        weights = _shrink(group)
    else:
        gradients = _add_decay(group)
    beta, eps = settings["betas"][1], settings["eps"]
    step = states[0]["step"] + 1  # the same for all
    size = rate / _one_minus_power(torch.log(momentum), step)
    root = torch.sqrt(_one_minus_power(math.log(beta) if beta else -math.inf, step))
    new_weights: list[Tensor] = []
    new_states: list[ParameterState] = []
    for weight, gradient, state in zip(weights, gradients, states, strict=True):
        average = state["exp_avg"] + (1 - momentum).to(weight.dtype) * (gradient - state["exp_avg"])
        square = beta * state["exp_avg_sq"] + (1 - beta) * gradient * gradient
        new = {"step": state["step"] + 1, "exp_avg": average, "exp_avg_sq": square}
        largest = square
        if settings["amsgrad"]:
            largest = new["max_exp_avg_sq"] = torch.maximum(state["max_exp_avg_sq"], square)
        denominator = largest.sqrt() / root.to(weight.dtype) + eps
        new_weights.append(weight - size.to(weight.dtype) * average / denominator)
        new_states.append(new)
    return new_weights, new_states


def sgd(group: Group) -> Updated:
    """Stochastic gradient descent with torch's form of momentum and of Nesterov's; states are empty without momentum."""
    settings, weights, _, states, rate, momentum = group
    new_weights: list[Tensor] = []
    new_states: list[ParameterState] = []
    for weight, gradient, state in zip(weights, _add_decay(group), states, strict=True):
        direction = gradient
        if state:
            share = momentum.to(gradient.dtype)
            buffer = state["momentum_buffer"] * share + gradient
            direction = gradient + share * buffer if settings["nesterov"] else buffer
            state = {"momentum_buffer": buffer}
        new_weights.append(weight - rate.to(weight.dtype) * direction)
        new_states.append(state)
    return new_weights, new_states


def adafactor(group: Group) -> Updated:
    """Adafactor (Shazeer and Stern 2018), as ``torch.optim.Adafactor``: second moments by rows and columns."""
    settings, weights, gradients, states, rate, _ = group
    step = states[0]["step"].to(rate.dtype) + 1
    share = _power(settings["beta2_decay"], torch.log(step))
    relative = torch.minimum(rate, step.rsqrt())
    smallest, least = settings["eps"]
    new_weights: list[Tensor] = []
    new_states: list[ParameterState] = []
    shrunk = _shrink(group)
    for weight, decayed, gradient, state in zip(weights, shrunk, gradients, states, strict=True):
        floor = torch.finfo(weight.dtype).eps if smallest is None else smallest
        size = relative.to(weight.dtype) * _root_mean_square(weight).clamp(min=least)
        new: ParameterState = {"step": state["step"] + 1}
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


class DeviceAdafactor(torch.optim.Adafactor):
    """Adafactor for devices that are not waited for: torch's own looks at norms and step counts on the host, so that each step
    would wait, and one that the guard undoes would leave the count wrong. The same state, on the parameters' device."""

    def move_state(self) -> None:
        """Bring the state there; ``capturable`` makes ``load_state_dict`` do so, too."""
        for group in self.param_groups:
            group["capturable"] = True
            for parameter in group["params"]:
                state = self.state[parameter]
                for name, value in state.items():
                    state[name] = value.to(parameter.device)

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """One step for all that have a gradient; there is no closure."""
        for group in self.param_groups:
            some = [parameter for parameter in group["params"] if parameter.grad is not None]
            if not some:
                continue
            device, states = some[0].device, [self.state[parameter] for parameter in some]
            gradients: list[Tensor] = [parameter.grad for parameter in some]
            rate, momentum = (
                torch.full((), number, dtype=wide_dtype(device), device=device) for number in (group["lr"], 0.0)
            )
            weights, after = adafactor(Group(group, some, gradients, states, rate, momentum))
            torch._foreach_copy_(some, weights)
            for state, new in zip(states, after, strict=True):
                for name, value in new.items():
                    state[name].copy_(value)


def _add_decay(group: Group) -> Sequence[Tensor]:
    """The gradients with weight decay inside (L2)."""
    decay = group.settings["weight_decay"]
    if not decay:
        return group.gradients
    return [gradient + decay * weight for gradient, weight in zip(group.gradients, group.weights, strict=True)]


def _shrink(group: Group) -> Sequence[Tensor]:
    """The weights after decoupled weight decay."""
    if not group.settings["weight_decay"]:
        return group.weights
    shrink = 1 - group.rate * group.settings["weight_decay"]
    return [weight * shrink.to(weight.dtype) for weight in group.weights]


def _power(log_base: Tensor | float, exponent: Tensor) -> Tensor:
    """base ** exponent, 0-dim, by ``exp``, which inductor keeps instead of reckoning it again for every weight (measured on
    a small MLP: an update took 7 times as long with ``pow``)."""
    return torch.exp(exponent.to(wide_dtype(exponent.device)) * log_base)


def _one_minus_power(log_base: Tensor | float, exponent: Tensor) -> Tensor:
    """1 - base ** exponent, 0-dim.

    On the CPU in float64 by ``exp`` (see ``_power``). Elsewhere by ``expm1``, which is exact in float32.
    """
    if exponent.device.type == "cpu":
        return 1 - torch.exp(exponent.double() * log_base)
    return -torch.expm1(exponent * log_base)


def _root_mean_square(values: Tensor) -> Tensor:
    return torch.linalg.vector_norm(values) / values.numel() ** 0.5


_FUNCTIONALS: dict[type[torch.optim.Optimizer], Functional] = {
    torch.optim.AdamW: adam,
    torch.optim.Adam: adam,
    torch.optim.SGD: sgd,
    torch.optim.Adafactor: adafactor,
    DeviceAdafactor: adafactor,
}
