"""A run with poisoned gradients equals, to the last bit, the run that never had those steps."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable

import pytest
import torch
from torch import Tensor, nn

from training.config.sections.optimizer import Adam, AdamW, OptimizerSection, Sgd
from training.core.clip import clip_value_and_norm
from training.optim import Guard, make_guard, make_optimizer
from training.optim.averaging import EMA
from training.optim.fast_clip import clip_norm
from training.optim.fused_step import FusedStep
from training.optim.guard import DeviceGuard, HostGuard
from training.optim.optimizers import create_state

CPU = torch.device("cpu")
STEPS = 8
CONFIGS = [
    AdamW(weight_decay=0.1),
    AdamW(amsgrad=True),
    Adam(weight_decay=0.1),
    Sgd(weight_decay=0.1),
    Sgd(momentum=0.0, nesterov=False),
]
Make = Callable[[nn.Module], torch.optim.Optimizer]
MakeGuard = Callable[..., Guard]


def host_guard(optimizer: torch.optim.Optimizer, device: torch.device, buffers: Iterable[Tensor] = ()) -> Guard:
    return HostGuard(buffers)


FORMS: list[tuple[MakeGuard, bool]] = [
    (host_guard, True),
    (host_guard, False),
    (DeviceGuard, True),
    (DeviceGuard, False),
]
FORM_NAMES = ["host-fused", "host-foreach", "device-fused", "device-foreach"]


def net() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 9), nn.BatchNorm1d(9), nn.Linear(9, 4))


def batch(step: int) -> torch.Tensor:
    return torch.randn(5, 6, generator=torch.Generator().manual_seed(100 + step))


def train(
    make: Make,
    make_guard_of: MakeGuard,
    steps: list[int],
    poison: dict[int, float],
    scaled: bool = False,
) -> tuple[nn.Module, torch.optim.Optimizer, EMA]:
    """Train over ``steps``; those in ``poison`` get that value into their gradients (through the input, so the
    forward pass and batch norm see it too)."""
    model = net()
    optimizer = make(model)
    guard = make_guard_of(optimizer, CPU, model.buffers())
    ema = EMA(model, 0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, enabled=scaled)
    for step in steps:
        inputs = batch(step)
        if step in poison:
            inputs[2, 3] = poison[step]
        model.zero_grad(set_to_none=True)
        scaler.scale(model(inputs).square().mean()).backward()
        if scaled:
            scaler.unscale_(optimizer)
        norm = clip_norm(model.parameters(), 1.0)
        ok = guard(optimizer.step, norm)
        assert bool(ok) == (step not in poison)
        if scaled:
            scaler.update()
        ema.update(ok)
    return model, optimizer, ema


def assert_same_bits(
    first: tuple[nn.Module, torch.optim.Optimizer, EMA], second: tuple[nn.Module, torch.optim.Optimizer, EMA]
) -> None:
    for left, right in (
        (first[0].state_dict(), second[0].state_dict()),
        (first[2].shadow, second[2].shadow),
    ):
        assert list(left) == list(right)
        for name in left:
            assert torch.equal(left[name], right[name]), name
            assert left[name].isfinite().all()
    assert int(first[2].count) == int(second[2].count)
    for mine, other in zip(first[0].parameters(), second[0].parameters(), strict=True):
        state, wanted = first[1].state[mine], second[1].state[other]
        assert list(state) == list(wanted)
        for name in state:
            assert torch.equal(state[name], wanted[name]), name


@pytest.mark.parametrize(
    "poison", [{4: math.inf}, {0: math.nan, 1: math.inf, 4: math.nan, 5: math.inf, STEPS - 1: math.nan}], ids=str
)
@pytest.mark.parametrize(("make_guard_of", "fused"), FORMS, ids=FORM_NAMES)
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_skipped_steps_leave_no_trace(
    config: OptimizerSection, make_guard_of: MakeGuard, fused: bool, poison: dict[int, float]
) -> None:
    def make(model: nn.Module) -> torch.optim.Optimizer:
        return make_optimizer(model, config, CPU, fused)

    clean = train(make, make_guard_of, [step for step in range(STEPS) if step not in poison], {})
    assert_same_bits(train(make, make_guard_of, list(range(STEPS)), poison), clean)


@pytest.mark.parametrize("config", CONFIGS, ids=str)
@pytest.mark.parametrize("fused", [True, False], ids=["fused", "foreach"])
def test_both_guards_do_what_the_optimizer_alone_does(config: OptimizerSection, fused: bool) -> None:
    def make(model: nn.Module) -> torch.optim.Optimizer:
        return make_optimizer(model, config, CPU, fused)

    host, device = (train(make, kind, list(range(STEPS)), {2: math.nan}) for kind in (host_guard, DeviceGuard))
    assert_same_bits(host, device)
    alone = net()
    optimizer = make(alone)
    for step in range(STEPS):
        if step != 2:
            optimizer.zero_grad()
            alone(batch(step)).square().mean().backward()
            torch.nn.utils.clip_grad_norm_(alone.parameters(), 1.0)
            optimizer.step()
    assert all(torch.equal(a, b) for a, b in zip(host[0].parameters(), alone.parameters(), strict=True))


OTHERS: dict[str, Make] = {
    "RMSprop": lambda model: torch.optim.RMSprop(model.parameters(), momentum=0.5, centered=True, capturable=False),
    "NAdam": lambda model: torch.optim.NAdam(model.parameters(), weight_decay=0.1),
    "RAdam": lambda model: torch.optim.RAdam(model.parameters(), weight_decay=0.1),
    "Adagrad": lambda model: torch.optim.Adagrad(model.parameters(), initial_accumulator_value=0.1, lr_decay=0.1),
    "Adamax": lambda model: torch.optim.Adamax(model.parameters()),
    "Adadelta": lambda model: torch.optim.Adadelta(model.parameters()),
    "ASGD": lambda model: torch.optim.ASGD(model.parameters(), t0=2),
    "Rprop": lambda model: torch.optim.Rprop(model.parameters()),
    "Muon": lambda model: torch.optim.Muon([p for p in model.parameters() if p.ndim == 2], weight_decay=0.1),
}


@pytest.mark.parametrize("make_guard_of", [host_guard, DeviceGuard])
@pytest.mark.parametrize("name", OTHERS)
def test_optimizers_without_fused_form(name: str, make_guard_of: MakeGuard) -> None:
    def make(model: nn.Module) -> torch.optim.Optimizer:
        optimizer = OTHERS[name](model)
        create_state(optimizer)
        return optimizer

    def torchs_own(model: nn.Module) -> torch.optim.Optimizer:
        return OTHERS[name](model)

    poison = dict.fromkeys([0, 1, 4, 7], math.nan)
    clean = train(torchs_own, host_guard, [step for step in range(STEPS) if step not in poison], {})
    assert_same_bits(train(make, make_guard_of, list(range(STEPS)), poison), clean)


def test_state_that_does_not_exist_yet_is_refused() -> None:
    model = net()
    optimizer = torch.optim.NAdam(model.parameters())
    guard = DeviceGuard(optimizer, CPU)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    with pytest.raises(ValueError, match="create_state"):
        guard(optimizer.step, torch.tensor(1.0))


@pytest.mark.parametrize(("make_guard_of", "fused"), FORMS, ids=FORM_NAMES)
@pytest.mark.parametrize("config", [AdamW(), Sgd()], ids=str)
def test_with_a_gradient_scaler(config: OptimizerSection, make_guard_of: MakeGuard, fused: bool) -> None:
    def make(model: nn.Module) -> torch.optim.Optimizer:
        return make_optimizer(model, config, CPU, fused)

    # the scale is halved at each overflow; powers of two cancel without rounding, so even the bits must agree
    poisoned = train(make, make_guard_of, list(range(STEPS)), {0: math.inf, 3: math.nan}, scaled=True)
    assert_same_bits(poisoned, train(make, make_guard_of, [1, 2, 4, 5, 6, 7], {}, scaled=True))


@pytest.mark.parametrize("make_guard_of", [host_guard, DeviceGuard])
def test_scaled_fused_step_equals_scaler_step(make_guard_of: MakeGuard) -> None:
    def make(model: nn.Module) -> torch.optim.Optimizer:
        return make_optimizer(model, AdamW(), CPU)

    model, _, _ = train(make, make_guard_of, list(range(STEPS)), {3: math.inf}, scaled=True)
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


@pytest.mark.parametrize(("make_guard_of", "fused"), FORMS, ids=FORM_NAMES)
def test_finite_gradients_whose_norm_overflows_are_skipped(make_guard_of: MakeGuard, fused: bool) -> None:
    model = net()
    optimizer = make_optimizer(model, AdamW(weight_decay=0.5), CPU, fused)
    guard = make_guard_of(optimizer, CPU)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 3e19)
    norm = clip_norm(model.parameters(), 1.0)
    assert not guard(optimizer.step, norm)
    assert not hasattr(optimizer, "found_inf")
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


@pytest.mark.parametrize("make_guard_of", [host_guard, DeviceGuard])
def test_loading_weights_refreshes_the_kept_buffers(make_guard_of: MakeGuard) -> None:
    model = net()
    guard: Guard = make_guard_of(make_optimizer(model, Sgd(), CPU), CPU, model.buffers())
    running_mean = model.get_buffer("1.running_mean")
    running_mean.fill_(7.0)  # what loading a checkpoint does
    guard.remember()
    running_mean.fill_(math.nan)
    guard(lambda: None, torch.tensor(math.nan))
    assert running_mean.tolist() == [7.0] * 9


def test_each_device_gets_its_guard() -> None:
    model = net()
    assert isinstance(make_guard(make_optimizer(model, AdamW(), CPU), CPU), HostGuard)
    with torch.device("meta"):
        elsewhere = nn.Linear(3, 3)
    meta = torch.device("meta")
    assert isinstance(make_guard(make_optimizer(elsewhere, AdamW(), meta), meta), DeviceGuard)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("fused", [True, False], ids=["fused", "foreach"])
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_no_wait_for_the_device(config: OptimizerSection, fused: bool) -> None:
    device = torch.device("cuda")
    model = net().to(device)
    optimizer = make_optimizer(model, config, device, fused)
    guard = make_guard(optimizer, device, model.buffers())
    ema = EMA(model, 0.9)
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, math.nan)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(3):
            norm = clip_value_and_norm([*model.parameters()], 0.5, 1.0)
            ema.update(guard(optimizer.step, norm))
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert int(ema.count) == 0
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_the_update_sees_hooks_and_state_that_was_loaded(config: OptimizerSection) -> None:
    """Collected lists must never outlive what they were collected from."""
    ours, theirs = net(), net()
    update_of, theirs_of = make_optimizer(ours, config, CPU), make_optimizer(theirs, config, CPU)
    del theirs_of.step  # torch's own
    seen = list[object]()
    assert isinstance(update_of.step, FusedStep)
    for step in range(9):
        for model in (ours, theirs):
            model.zero_grad()
            model(batch(step)).square().mean().backward()
        if step == 3:
            for optimizer in (update_of, theirs_of):
                optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        if step == 5:
            handle = update_of.register_step_post_hook(lambda *seen_of: seen.append(seen_of[0]))
        if step == 6:
            handle.remove()
        if step == 7:  # a parameter without a gradient is left alone, and not counted
            next(ours.parameters()).grad = next(theirs.parameters()).grad = None
        update_of.step()
        theirs_of.step()
    assert seen == [update_of]  # once, in the one step
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(mine, other)
        for name, value in theirs_of.state[other].items():
            if torch.is_tensor(value):
                assert torch.equal(update_of.state[mine][name], value), name
