"""A run with poisoned gradients equals, to the last bit, the run that never had those steps."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from training.config.optimizer import Adam, AdamW, OptimizerSection, Sgd
from training.optim import Guard, clip_gradients_, gradient_norm, make_optimizer

CPU = torch.device("cpu")
STEPS = 8
CONFIGS = [
    AdamW(weight_decay=0.1),
    AdamW(amsgrad=True),
    Adam(weight_decay=0.1),
    Sgd(weight_decay=0.1),
    Sgd(momentum=0.0, nesterov=False),
]


def net() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 9), nn.BatchNorm1d(9), nn.Linear(9, 4))


def batch(step: int) -> torch.Tensor:
    return torch.randn(5, 6, generator=torch.Generator().manual_seed(100 + step))


def train(
    config: OptimizerSection,
    fused: bool,
    steps: list[int],
    poison: dict[int, float],
    scaled: bool = False,
) -> tuple[nn.Module, torch.optim.Optimizer, Guard]:
    """Train over ``steps``; those in ``poison`` get that value into their gradients (through the input, so the
    forward pass and batch norm see it too)."""
    model = net()
    optimizer = make_optimizer(model, config, CPU, fused)
    guard = Guard(optimizer, CPU, model.buffers())
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, enabled=scaled)
    for step in steps:
        inputs = batch(step)
        if step in poison:
            inputs[2, 3] = poison[step]
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(model(inputs).square().mean()).backward()
        if scaled:
            scaler.unscale_(optimizer)
        norm = gradient_norm(model.parameters())
        clip_gradients_(model.parameters(), norm, 1.0, None)
        ok = guard.step(norm)
        assert ok.item() == (step not in poison)
        if scaled:
            scaler.update()
    return model, optimizer, guard


def assert_same_bits(
    first: tuple[nn.Module, torch.optim.Optimizer], second: tuple[nn.Module, torch.optim.Optimizer]
) -> None:
    left, right = first[0].state_dict(), second[0].state_dict()
    assert list(left) == list(right)
    for name in left:
        assert torch.equal(left[name], right[name]), name
        assert left[name].isfinite().all()
    for mine, other in zip(first[0].parameters(), second[0].parameters(), strict=True):
        state, wanted = first[1].state[mine], second[1].state[other]
        assert list(state) == list(wanted)
        for name in state:
            assert torch.equal(state[name], wanted[name]), name


@pytest.mark.parametrize("poisoned", [[0], [4], [STEPS - 1], [0, 1, 4, 5, 7]], ids=str)
@pytest.mark.parametrize("value", [math.nan, math.inf], ids=str)
@pytest.mark.parametrize("fused", [True, False], ids=["fused", "foreach"])
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_skipped_steps_leave_no_trace(config: OptimizerSection, fused: bool, value: float, poisoned: list[int]) -> None:
    poison = dict.fromkeys(poisoned, value)
    model, optimizer, guard = train(config, fused, list(range(STEPS)), poison)
    clean = train(config, fused, [step for step in range(STEPS) if step not in poison], {})
    assert_same_bits((model, optimizer), clean[:2])
    assert guard.state()["skipped"] == len(poisoned)


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "foreach"])
@pytest.mark.parametrize("config", [AdamW(), Sgd()], ids=str)
def test_with_a_gradient_scaler(config: OptimizerSection, fused: bool) -> None:
    # the scale is halved at each overflow; powers of two cancel without rounding, so even the bits must agree
    model, optimizer, guard = train(config, fused, list(range(STEPS)), {0: math.inf, 3: math.nan}, scaled=True)
    clean = train(config, fused, [1, 2, 4, 5, 6, 7], {}, scaled=True)
    assert_same_bits((model, optimizer), clean[:2])
    assert guard.state()["skipped"] == 2


def test_scaled_fused_step_equals_scaler_step() -> None:
    model, _, _ = train(AdamW(), True, list(range(STEPS)), {3: math.inf}, scaled=True)
    other = net()
    optimizer = make_optimizer(other, AdamW(), CPU)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    before: dict[str, torch.Tensor] = {}
    for step in range(STEPS):
        inputs = batch(step)
        before = {name: buffer.clone() for name, buffer in other.named_buffers()}
        if step == 3:
            inputs[2, 3] = math.inf
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(other(inputs).square().mean()).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(other.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        if step == 3:
            for name, buffer in other.named_buffers():
                buffer.copy_(before[name])
    for mine, wanted in zip(model.state_dict().values(), other.state_dict().values(), strict=True):
        assert torch.equal(mine, wanted)


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "foreach"])
def test_finite_gradients_whose_norm_overflows_are_skipped(fused: bool) -> None:
    model = net()
    optimizer = make_optimizer(model, AdamW(weight_decay=0.5), CPU, fused)
    guard = Guard(optimizer, CPU)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 3e19)
    norm = gradient_norm(model.parameters())
    clip_gradients_(model.parameters(), norm, 1.0, None)
    assert not guard.step(norm)
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "foreach"])
def test_counts(fused: bool) -> None:
    model = net()
    optimizer = make_optimizer(model, Sgd(), CPU, fused)
    guard = Guard(optimizer, CPU)
    seen = []
    for good in (True, False, False, True, False):
        for parameter in model.parameters():
            parameter.grad = torch.full_like(parameter, 0.1 if good else math.nan)
        guard.step(gradient_norm(model.parameters()))
        seen.append((int(guard.skipped), int(guard.in_a_row)))
    assert seen == [(0, 0), (1, 1), (2, 2), (2, 0), (3, 1)]
    other = Guard(optimizer, CPU)
    other.load(guard.state())
    assert other.state() == {"skipped": 3, "in_a_row": 1}
    assert not hasattr(optimizer, "found_inf")


def test_loading_weights_refreshes_the_kept_buffers() -> None:
    model = net()
    optimizer = make_optimizer(model, Sgd(), CPU)
    guard = Guard(optimizer, CPU, model.buffers())
    running_mean = model.get_buffer("1.running_mean")
    running_mean.fill_(7.0)  # what loading a checkpoint does
    guard.load({"skipped": 0, "in_a_row": 0})
    running_mean.fill_(math.nan)
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, math.nan)
    guard.step(gradient_norm(model.parameters()))
    assert running_mean.tolist() == [7.0] * 9


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("fused", [True, False], ids=["fused", "foreach"])
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_no_wait_for_the_device(config: OptimizerSection, fused: bool) -> None:
    device = torch.device("cuda")
    model = net().to(device)
    optimizer = make_optimizer(model, config, device, fused)
    guard = Guard(optimizer, device, model.buffers())
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, math.nan)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(3):
            norm = gradient_norm(model.parameters())
            clip_gradients_(model.parameters(), norm, 1.0, 0.5)
            guard.step(norm)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert guard.state() == {"skipped": 3, "in_a_row": 3}
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
