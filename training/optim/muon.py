"""Muon for hidden matrices and AdamW for the rest, as one optimizer.

torch has the same Muon from 2.9 on, for matrices only and apart from AdamW. One object instead of two is what schedules,
the guard, checkpoints and a compiled step can handle like any other. An exported script carries the code below as it is.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor
from torch.optim.adamw import adamw


def orthogonal(matrix: Tensor, steps: int) -> Tensor:
    """The nearest matrix with orthogonal rows or columns, roughly (singular values near 1), in bfloat16.

    Newton-Schulz iterations with the coefficients of Keller Jordan (https://kellerjordan.github.io/posts/muon, 2024).
    """
    tall = matrix.size(0) > matrix.size(1)
    result = matrix.to(torch.bfloat16)
    result = result.T if tall else result
    result = result / result.norm().clamp(min=1e-7)
    for _ in range(steps):
        gram = result @ result.T
        gram = torch.addmm(gram, gram, gram, beta=-4.7750, alpha=2.0315)
        result = torch.addmm(result, gram, result, beta=3.4445)
    return result.T if tall else result


def shape_factor(adjust_lr_fn: str, shape: torch.Size) -> float:
    """By what a weight's shape multiplies the rate of its steps; more than two dimensions are a matrix of len(weight) rows."""
    rows, columns = shape[0], math.prod(shape[1:])
    if adjust_lr_fn == "match_rms_adamw":  # Liu et al., "Muon is Scalable for LLM Training", 2025
        return 0.2 * math.sqrt(max(rows, columns))
    if adjust_lr_fn == "spectral_unclamped":
        return math.sqrt(rows / columns)
    return math.sqrt(max(1.0, rows / columns))


class Muon(torch.optim.Optimizer):
    """Momentum whose matrix is made orthogonal before each step (Jordan et al. 2024); AdamW in groups that have ``betas``.

    Groups without need ``momentum``, ``nesterov``, ``ns_steps`` and ``adjust_lr_fn``, and weights of at least two
    dimensions: filters count as matrices with a row for each output channel. Groups with need ``eps``, too, and
    ``fused_adamw``, whether torch's fused kernel makes the step.
    """

    def __init__(self, groups: list[dict[str, Any]], lr: float) -> None:
        super().__init__(groups, {"lr": lr, "weight_decay": 0.0})

    def _init_group(self, group: dict[str, Any]) -> list[Tensor]:
        """The parameters that have a gradient, all with their state."""
        trained = [parameter for parameter in group["params"] if parameter.grad is not None]
        for parameter in trained:
            state = self.state[parameter]
            if state:
                continue
            if "betas" in group:
                state["step"] = torch.zeros((), dtype=torch.float32, device=parameter.device)
                state["exp_avg"] = torch.zeros_like(parameter)
                state["exp_avg_sq"] = torch.zeros_like(parameter)
            else:
                state["momentum_buffer"] = torch.zeros_like(parameter)
        return trained

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """One step for all that have a gradient; there is no closure."""
        for group in self.param_groups:
            trained = self._init_group(group)
            if "betas" in group:
                self._step_adamw(group, trained)
            else:
                for parameter in trained:
                    self._step_muon(group, parameter)

    def _step_muon(self, group: dict[str, Any], parameter: Tensor) -> None:
        gradient, buffer, momentum = parameter.grad, self.state[parameter]["momentum_buffer"], group["momentum"]
        assert gradient is not None
        buffer.lerp_(gradient, 1 - momentum)
        direction = gradient.lerp(buffer, momentum) if group["nesterov"] else buffer
        direction = orthogonal(direction.reshape(len(direction), -1), group["ns_steps"]).reshape(parameter.shape)
        parameter.mul_(1 - group["lr"] * group["weight_decay"])
        parameter.add_(direction, alpha=-group["lr"] * shape_factor(group["adjust_lr_fn"], parameter.shape))

    def _step_adamw(self, group: dict[str, Any], trained: list[Tensor]) -> None:
        if not trained:
            return
        states, fused = [self.state[parameter] for parameter in trained], group["fused_adamw"]
        adamw(
            trained,
            [parameter.grad for parameter in trained],  # type: ignore[misc]  # they all have one
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [],
            [state["step"] for state in states],
            fused=fused,
            foreach=not fused,
            capturable=group["capturable"] and not fused,
            amsgrad=False,
            beta1=group["betas"][0],
            beta2=group["betas"][1],
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            maximize=False,
        )
