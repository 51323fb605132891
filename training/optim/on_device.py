"""Optimizers of torch that keep numbers on the host, stepping without it.

torch's Adafactor, and Adagrad without its fused kernel, look at their step counts (and norms) on the processor: each step
would wait for the GPU, and one that the guard undoes would leave the count wrong. NAdam, RAdam and RMSprop can do without
only where torch calls them capturable. For all others there are these: the same state, the formula of ``optim.rules``.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

from training.optim.rule import wide
from training.optim.rules import rule_of


class OnDevice(torch.optim.Optimizer):
    """Mixed in before torch's class: its own formula, made of tensors on the parameters' device."""

    steps_as: ClassVar[type[torch.optim.Optimizer]]

    def settle(self) -> None:
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
        rule = rule_of(self)
        assert rule is not None
        for group in self.param_groups:
            some = [parameter for parameter in group["params"] if parameter.grad is not None]
            if not some:
                continue
            device, states = some[0].device, [self.state[parameter] for parameter in some]
            gradients: list[Tensor] = [parameter.grad for parameter in some]
            rate, momentum = (torch.full((), number, dtype=wide(device), device=device) for number in _now(group))
            weights, after = rule(group, some, gradients, states, rate, momentum)
            torch._foreach_copy_(some, weights)
            for state, new in zip(states, after, strict=True):
                for name, value in new.items():
                    state[name].copy_(value)


def _now(group: dict[str, Any]) -> tuple[float, float]:
    return group["lr"], group["betas"][0] if "betas" in group else group.get("momentum", 0.0)


class DeviceNAdam(OnDevice, torch.optim.NAdam):
    steps_as = torch.optim.NAdam


class DeviceRAdam(OnDevice, torch.optim.RAdam):
    steps_as = torch.optim.RAdam


class DeviceRMSprop(OnDevice, torch.optim.RMSprop):
    steps_as = torch.optim.RMSprop


class DeviceAdagrad(OnDevice, torch.optim.Adagrad):
    steps_as = torch.optim.Adagrad


class DeviceAdafactor(OnDevice, torch.optim.Adafactor):
    steps_as = torch.optim.Adafactor
