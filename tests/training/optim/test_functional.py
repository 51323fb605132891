"""The functional optimizers of a compiled step against torch's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.training.stepping import set_lr
from training.config.sections.optimizer import Adafactor, Adam, AdamW, Sgd
from training.models.networks.stages import stages
from training.optim.functional import Group, find_functional
from training.optim.optimizers import cycle_momentum, make_optimizer

CPU = torch.device("cpu")
SETTINGS: list[Any] = [
    AdamW(weight_decay=0.1),
    AdamW(amsgrad=True, betas=(0.8, 0.99), eps=1e-3),
    AdamW(betas=(0.9, 0.0)),
    Adam(weight_decay=0.1),
    Adam(amsgrad=True),
    Sgd(weight_decay=0.1),
    Sgd(nesterov=False),
    Sgd(momentum=0.0, nesterov=False),
    Adafactor(weight_decay=0.1),
    Adafactor(eps1=1e-5, eps2=0.1, d=2.0, beta2_decay=-0.5),
]


def network(dtype: torch.dtype) -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(5, 7), nn.LayerNorm(7), nn.Linear(7, 3)).to(dtype)  # Muon steps the first weight


def train(
    dtype: torch.dtype, settings: Any, steps: int, update: Callable[[torch.optim.Optimizer, float, float], None]
) -> dict[str, Tensor]:
    """``steps`` updates with random gradients and a rate and momentum that change at each."""
    model = network(dtype)
    optimizer = make_optimizer(model, settings, CPU, stages=stages(model))
    generator = torch.Generator().manual_seed(2)
    for step in range(steps):
        for parameter in model.parameters():
            parameter.grad = torch.randn(parameter.shape, dtype=torch.float64, generator=generator).to(dtype)
        momentum = 0.0 if getattr(settings, "momentum", 0.9) == 0.0 else 0.85 + 0.1 * step / steps
        update(optimizer, 0.01 * (1 + step % 3), momentum)
    numbers = dict(model.state_dict())
    for place, state in optimizer.state_dict()["state"].items():
        numbers |= {f"{place} {name}": value for name, value in state.items()}
    return numbers


def by_torch(optimizer: torch.optim.Optimizer, rate: float, momentum: float) -> None:
    set_lr(optimizer, rate)
    if any("betas" in group or "momentum" in group for group in optimizer.param_groups):
        cycle_momentum(optimizer, momentum)
    optimizer.step()


def by_function(optimizer: torch.optim.Optimizer, rate: float, momentum: float) -> None:
    functional = find_functional(optimizer)
    assert functional is not None
    with torch.no_grad():
        for group in optimizer.param_groups:
            now = rate * group.get("lr_scale", 1.0), momentum
            numbers = [torch.tensor(number, dtype=torch.float64) for number in now]
            parameters = group["params"]
            states = [optimizer.state[parameter] for parameter in parameters]
            gradients = [parameter.grad for parameter in parameters]
            weights, new = functional(
                Group(group, [parameter.detach() for parameter in parameters], gradients, states, *numbers)
            )
            for parameter, weight, state, after in zip(parameters, weights, states, new, strict=True):
                assert weight.dtype == parameter.dtype
                parameter.copy_(weight)
                assert set(state) == set(after)
                for name in state:
                    assert state[name].dtype == after[name].dtype
                    state[name].copy_(after[name])


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize(
    ("dtype", "steps", "tolerance"), [(torch.float64, 1, 1e-12), (torch.float64, 30, 1e-11), (torch.float32, 30, 2e-5)]
)
def test_a_function_moves_weights_as_torchs_optimizer_does(
    settings: Any, dtype: torch.dtype, steps: int, tolerance: float
) -> None:
    right, ours = train(dtype, settings, steps, by_torch), train(dtype, settings, steps, by_function)
    assert list(right) == list(ours)
    for name in right:
        assert torch.allclose(ours[name], right[name], rtol=tolerance, atol=tolerance * 1e-2), name


def test_an_optimizer_without_a_function_is_told_apart_from_the_one_it_descends_from() -> None:
    class Own(torch.optim.SGD):
        """Steps otherwise."""

    assert find_functional(Own(network(torch.float32).parameters(), lr=0.1)) is None
