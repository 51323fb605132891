"""Every optimizer of the catalog under the guard: skipped steps leave no trace, on the host and on a device."""

from __future__ import annotations

import copy
import math

import pytest
import torch
from torch import nn

from tests.training.optim.test_guard import STEPS, MakeGuard, assert_same_bits, batch, host_guard, net, train
from training.catalog import OPTIMIZERS
from training.config.sections.optimizer import Adafactor, OptimizerSection, RMSprop
from training.core.clip import clip_value_and_norm
from training.core.guard import FiniteGuard
from training.models.networks.stages import stages
from training.optim import make_guard, make_optimizer
from training.optim.functional import DeviceAdafactor
from training.optim.guard import DeviceGuard
from training.optim.optimizers import implementation, load_optimizer

CPU = torch.device("cpu")
EVERY = [row.config() for row in OPTIMIZERS]


@pytest.mark.parametrize("make_guard_of", [host_guard, DeviceGuard])
@pytest.mark.parametrize("config", EVERY, ids=lambda config: config.kind)
def test_skipped_steps_leave_no_trace(config: OptimizerSection, make_guard_of: MakeGuard) -> None:
    def make(model: nn.Module) -> torch.optim.Optimizer:
        return make_optimizer(model, config, CPU, stages=stages(model))

    poison = dict.fromkeys((0, 1, 4, 7), math.nan)
    clean = train(make, host_guard, [step for step in range(STEPS) if step not in poison], {})
    assert_same_bits(train(make, make_guard_of, list(range(STEPS)), poison), clean)


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """The CPU stands for a device, on which torch's class would keep numbers on the host."""
    monkeypatch.setattr(torch.optim, "Adafactor", DeviceAdafactor)


def by_torch(config: OptimizerSection, model: nn.Module) -> torch.optim.Optimizer:
    return make_optimizer(model, config, CPU, fused=False)


CONFIGS = [Adafactor(weight_decay=0.1), Adafactor(eps1=1e-5, eps2=0.1, d=2.0, beta2_decay=-0.5)]


def assert_close(ours: nn.Module, wanted: nn.Module) -> None:
    for name, mine in ours.named_parameters():
        if name != "0.bias":  # which batch norm takes off again: its gradient is rounding alone
            torch.testing.assert_close(mine, dict(wanted.named_parameters())[name], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_without_the_host_the_formula_is_torchs(config: OptimizerSection, request: pytest.FixtureRequest) -> None:
    right = train(lambda model: by_torch(config, model), host_guard, list(range(STEPS)), {})
    request.getfixturevalue("elsewhere")
    ours = train(lambda model: by_torch(config, model), DeviceGuard, list(range(STEPS)), {})
    assert isinstance(ours[1], DeviceAdafactor)
    assert_close(ours[0], right[0])


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_without_the_host_skipped_steps_leave_no_trace(config: OptimizerSection) -> None:
    poison = dict.fromkeys((0, 1, 4, 7), math.nan)
    make = lambda model: by_torch(config, model)  # noqa: E731
    clean = train(make, DeviceGuard, [step for step in range(STEPS) if step not in poison], {})
    assert_same_bits(train(make, DeviceGuard, list(range(STEPS)), poison), clean)


@pytest.mark.parametrize("config", CONFIGS, ids=str)
@pytest.mark.parametrize("fused", [True, False])
def test_state_goes_from_one_machine_to_another(
    config: OptimizerSection, fused: bool, request: pytest.FixtureRequest
) -> None:
    def two_steps(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        for step in range(2):
            model.zero_grad()
            model(batch(step)).square().mean().backward()
            optimizer.step()

    here = net()
    first = make_optimizer(here, config, CPU, fused)
    two_steps(here, first)
    request.getfixturevalue("elsewhere")
    there = copy.deepcopy(here)
    second = by_torch(config, there)
    load_optimizer(second, copy.deepcopy(first.state_dict()))
    assert implementation(second) == "foreach"
    two_steps(here, first)
    two_steps(there, second)
    assert [float(state["step"]) for state in second.state.values()] == [4.0] * 6
    assert_close(there, here)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("config", EVERY, ids=lambda config: config.kind)
def test_no_wait_for_the_device(config: OptimizerSection) -> None:
    device = torch.device("cuda")
    model = net().to(device)
    optimizer = make_optimizer(model, config, device, stages=stages(model))
    guard = make_guard(optimizer, device, model.buffers())
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, math.nan)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(3):
            guard(optimizer.step, clip_value_and_norm([*model.parameters()], 0.5, 1.0))
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


def test_an_optimizer_that_keeps_numbers_on_the_host_is_guarded_there() -> None:
    model = net()
    optimizer = make_optimizer(model, RMSprop(), CPU)  # on Apple's GPUs, too, it counts its steps on the host
    assert isinstance(make_guard(optimizer, torch.device("mps"), model.buffers()), FiniteGuard)
