"""The update rules of a compiled step against torch's own optimizers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from training import catalog
from training.config.optimizer import Adafactor, Adagrad, Adam, AdamW, Muon, NAdam, RAdam, RMSprop, Sgd
from training.core.step import set_lr
from training.models.stages import stages
from training.optim.optimizers import cycle_momentum, make_optimizer
from training.optim.rules import rule_of

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
    NAdam(weight_decay=0.1),
    NAdam(weight_decay=0.1, decoupled_weight_decay=False, momentum_decay=0.1, eps=1e-3),
    RAdam(weight_decay=0.1),
    RAdam(weight_decay=0.1, decoupled_weight_decay=False, betas=(0.9, 0.9)),
    Adagrad(weight_decay=0.1, lr_decay=0.01, initial_accumulator_value=0.1),
    RMSprop(weight_decay=0.1),
    RMSprop(momentum=0.9, centered=True),
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


def by_rule(optimizer: torch.optim.Optimizer, rate: float, momentum: float) -> None:
    rule = rule_of(optimizer)
    assert rule is not None
    with torch.no_grad():
        for group in optimizer.param_groups:
            now = rate * group.get("lr_scale", 1.0), momentum
            numbers = [torch.tensor(number, dtype=torch.float64) for number in now]
            parameters = group["params"]
            states = [optimizer.state[parameter] for parameter in parameters]
            gradients = [parameter.grad for parameter in parameters]
            weights, new = rule(group, [parameter.detach() for parameter in parameters], gradients, states, *numbers)
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
def test_a_rule_moves_weights_as_torchs_optimizer_does(
    settings: Any, dtype: torch.dtype, steps: int, tolerance: float
) -> None:
    right, ours = train(dtype, settings, steps, by_torch), train(dtype, settings, steps, by_rule)
    assert list(right) == list(ours)
    for name in right:
        assert torch.allclose(ours[name], right[name], rtol=tolerance, atol=tolerance * 1e-2), name


def test_muons_rule() -> None:
    """Both ways of it; orthogonal steps are made in bfloat16 by either."""
    settings = Muon(adamw_lr_factor=0.5)
    right, ours = train(torch.float32, settings, 10, by_torch), train(torch.float32, settings, 10, by_rule)
    assert list(right) == list(ours)
    for name in right:
        assert torch.allclose(ours[name], right[name], rtol=2e-5, atol=2e-3), name


@pytest.mark.parametrize("entry", catalog.entries("optimizer"), ids=lambda entry: entry.kind)
def test_every_optimizer_of_the_catalog_has_its_rule(entry: Any) -> None:
    model = network(torch.float32)
    assert rule_of(make_optimizer(model, entry.config(), CPU, stages=stages(model))) is not None


def test_an_optimizer_without_a_rule_is_told_apart_from_the_one_it_descends_from() -> None:
    class Own(torch.optim.SGD):
        """Steps otherwise."""

    assert rule_of(Own(network(torch.float32).parameters(), lr=0.1)) is None
