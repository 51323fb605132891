"""Optimizers equal torch's own, in fused and in foreach form."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils._foreach_utils import _get_fused_kernels_supported_devices

from tests.training.stepping import set_lr
from training.config.sections.optimizer import (
    Adafactor,
    Adagrad,
    Adam,
    AdamW,
    Muon,
    NAdam,
    OptimizerSection,
    RAdam,
    RMSprop,
    Sgd,
)
from training.models.networks.stages import stages
from training.optim import cycle_momentum, implementation, make_optimizer
from training.optim.muon import orthogonal
from training.optim.optimizers import FUSED_DEVICES, load_optimizer

CPU = torch.device("cpu")
CONFIGS = [
    AdamW(weight_decay=0.1, betas=(0.8, 0.95), eps=1e-6),
    AdamW(amsgrad=True),
    Adam(weight_decay=0.01),
    Sgd(lr=0.1, weight_decay=1e-3),
    Sgd(lr=0.1, nesterov=False),
    Sgd(lr=0.1, momentum=0.0, nesterov=False),
    NAdam(weight_decay=0.1, momentum_decay=0.01),
    NAdam(weight_decay=0.1, decoupled_weight_decay=False),
    RAdam(weight_decay=0.1, betas=(0.8, 0.9)),
    RAdam(weight_decay=0.1, decoupled_weight_decay=False),
    Adagrad(weight_decay=0.1, lr_decay=0.01, initial_accumulator_value=0.1),
    RMSprop(weight_decay=0.1, alpha=0.9),
    RMSprop(momentum=0.9, centered=True),
    Adafactor(weight_decay=0.1),
    Adafactor(eps1=1e-5, eps2=0.1, d=2.0, beta2_decay=-0.5),
]
FUSED = (AdamW, Adam, Sgd, Adagrad)


def net(seed: int = 0) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, 7), nn.LayerNorm(7), nn.Linear(7, 3))


def stock(model: nn.Module, config: OptimizerSection, fused: bool) -> torch.optim.Optimizer:
    """The same optimizer written down the way a torch user would."""
    spared = [p for p in model.parameters() if p.ndim <= 1]
    groups = [
        {"params": [p for p in model.parameters() if p.ndim > 1], "weight_decay": config.weight_decay},
        {"params": spared, "weight_decay": 0.0},
    ]
    form = {"fused": True} if fused else {"foreach": True}
    if isinstance(config, Sgd):
        return torch.optim.SGD(groups, lr=config.lr, momentum=config.momentum, nesterov=config.nesterov, **form)
    if isinstance(config, Adafactor):
        eps = (config.eps1, config.eps2)
        decay = config.beta2_decay
        return torch.optim.Adafactor(groups, lr=config.lr, beta2_decay=decay, eps=eps, d=config.d, foreach=True)
    if isinstance(config, NAdam | RAdam | Adagrad | RMSprop):
        own = set(type(config).model_fields) - set(OptimizerSection.model_fields) - {"kind"}
        settings = {name: getattr(config, name) for name in own}
        settings |= form if isinstance(config, Adagrad) else {"foreach": True}
        kind = getattr(torch.optim, type(config).__name__)
        optimizer: torch.optim.Optimizer = kind(groups, lr=config.lr, **settings)
        return optimizer
    assert isinstance(config, Adam | AdamW)
    cls = torch.optim.AdamW if isinstance(config, AdamW) else torch.optim.Adam
    return cls(groups, lr=config.lr, betas=config.betas, eps=config.eps, amsgrad=config.amsgrad, **form)


def set_gradients(model: nn.Module, step: int) -> None:
    generator = torch.Generator().manual_seed(step)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator)


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("config", CONFIGS, ids=str)
def test_same_bits_as_torch(config: OptimizerSection, fused: bool) -> None:
    ours, theirs = net(), net()
    our_optimizer, their_optimizer = make_optimizer(ours, config, CPU, fused), stock(theirs, config, fused)
    assert implementation(our_optimizer) == ("fused" if fused and isinstance(config, FUSED) else "foreach")
    for step in range(12):  # RAdam adapts from the seventh on
        set_gradients(ours, step)
        set_gradients(theirs, step)
        our_optimizer.step()
        their_optimizer.step()
    for mine, wanted in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(mine, wanted)
    # and the state made in advance is laid out as torch lays it out
    for mine, wanted in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert {k: (v.dtype, v.device, v.shape) for k, v in our_optimizer.state[mine].items()} == {
            k: (v.dtype, v.device, v.shape) for k, v in their_optimizer.state[wanted].items() if v is not None
        }


def test_fused_is_the_default_wherever_torch_has_it() -> None:
    assert implementation(make_optimizer(net(), AdamW(), CPU)) == "fused"
    assert set(FUSED_DEVICES) <= set(_get_fused_kernels_supported_devices())


def test_foreach_where_torch_has_no_fused_form() -> None:
    with torch.device("meta"):
        model = nn.Linear(3, 3)
    assert implementation(make_optimizer(model, AdamW(), torch.device("meta"))) == "foreach"


def test_state_keeps_the_memory_format() -> None:
    model = nn.Conv2d(3, 8, 3).to(memory_format=torch.channels_last)
    optimizer = make_optimizer(model, AdamW(), CPU)
    assert optimizer.state[model.weight]["exp_avg"].is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("config", [Adafactor(), AdamW()], ids=lambda config: config.kind)
def test_loaded_state_lies_as_it_was_made(config: OptimizerSection) -> None:
    model = nn.Conv2d(4, 8, 1).to(memory_format=torch.channels_last)
    optimizer = make_optimizer(model, config, CPU)
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    made = {name: value.stride() for name, value in optimizer.state[model.weight].items()}
    load_optimizer(optimizer, optimizer.state_dict())
    assert {name: value.stride() for name, value in optimizer.state[model.weight].items()} == made


def test_state_survives_a_round_trip_before_the_first_step() -> None:
    model = net()
    optimizer = make_optimizer(model, AdamW(), CPU)
    saved = optimizer.state_dict()
    other = make_optimizer(net(), AdamW(), CPU)
    other.load_state_dict(saved)
    assert len(saved["state"]) == len(list(model.parameters())) == len(other.state_dict()["state"])
    assert implementation(other) == "fused"


def test_rate_and_momentum_of_the_next_step() -> None:
    adam, sgd = make_optimizer(net(), AdamW(), CPU), make_optimizer(net(), Sgd(), CPU)
    for optimizer in (adam, sgd):
        set_lr(optimizer, 0.5)
        assert [group["lr"] for group in optimizer.param_groups] == [0.5, 0.5]
    assert [group["betas"] for group in adam.param_groups] == [(0.9, 0.999)] * 2
    cycle_momentum(adam, 0.85)
    cycle_momentum(sgd, 0.85)
    assert [group["betas"] for group in adam.param_groups] == [(0.85, 0.999)] * 2
    assert [group["momentum"] for group in sgd.param_groups] == [0.85] * 2


@pytest.mark.parametrize("fused", [True, False])
def test_momentum_switched_on_by_the_schedule_starts_from_zero(fused: bool) -> None:
    config = Sgd(lr=0.1, momentum=0.0, nesterov=False)
    ours, theirs = net(), net()
    optimizer, stock_optimizer = make_optimizer(ours, config, CPU, fused), stock(theirs, config, False)
    for step in range(4):
        set_gradients(ours, step)
        set_gradients(theirs, step)
        set_lr(optimizer, 0.1)
        cycle_momentum(optimizer, 0.9)
        if step == 0:  # there before the first step, which a guard may skip
            buffers = [optimizer.state[parameter]["momentum_buffer"] for parameter in ours.parameters()]
            assert not any(buffer.any() for buffer in buffers)
        for group in stock_optimizer.param_groups:
            group["momentum"] = 0.9
        optimizer.step()
        stock_optimizer.step()
    for mine, wanted in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(mine, wanted)


def test_rmsprop_whose_momentum_the_schedule_switches_on_equals_torchs() -> None:
    ours, theirs = net(), net()
    optimizer, wanted = make_optimizer(ours, RMSprop(), CPU), stock(theirs, RMSprop(momentum=0.9), False)
    for step in range(4):
        set_gradients(ours, step)
        set_gradients(theirs, step)
        cycle_momentum(optimizer, 0.9)
        optimizer.step()
        wanted.step()
    for mine, other in zip(ours.parameters(), theirs.parameters(), strict=True):
        assert torch.equal(mine, other)


def deep() -> nn.Sequential:
    torch.manual_seed(3)
    return nn.Sequential(nn.Embedding(9, 6), nn.Linear(6, 12), nn.LayerNorm(12), nn.Linear(12, 12), nn.Linear(12, 3))


@pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="this torch has no Muon of its own")
@pytest.mark.parametrize("adjust", ["original", "match_rms_adamw", "spectral_unclamped"])
@pytest.mark.parametrize("nesterov", [True, False])
def test_muon_has_the_bits_of_torchs_muon_and_adamw(adjust: str, nesterov: bool) -> None:
    config = Muon.model_validate(
        {"adjust_lr_fn": adjust, "nesterov": nesterov, "adamw_lr_factor": 0.5, "ns_steps": 4, "momentum": 0.8}
    )
    ours, theirs = deep(), deep()
    optimizer = make_optimizer(ours, config, CPU, stages=stages(ours))
    named = dict(theirs.named_parameters())
    hidden = [named["1.weight"], named["3.weight"]]
    spared = [p for name, p in named.items() if p.ndim == 1 or name == "0.weight"]
    rest = [
        {"params": [named["4.weight"]], "weight_decay": config.weight_decay},
        {"params": spared, "weight_decay": 0.0},
    ]
    wanted = [
        torch.optim.Muon(
            hidden,
            lr=config.lr,
            weight_decay=config.weight_decay,
            momentum=0.8,
            nesterov=nesterov,
            ns_steps=4,
            adjust_lr_fn=adjust,
        ),
        torch.optim.AdamW(rest, lr=config.lr * 0.5, betas=config.adamw_betas, eps=config.adamw_eps, fused=True),
    ]
    for step in range(5):
        set_gradients(ours, step)
        set_gradients(theirs, step)
        set_lr(optimizer, config.lr)
        optimizer.step()
        for each in wanted:
            each.step()
    for (name, mine), other in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        assert torch.equal(mine, other), name


def test_muon_takes_filters_as_matrices() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Conv2d(8, 16, 3), nn.Flatten(), nn.Linear(16, 2))
    optimizer = make_optimizer(model, Muon(lr=0.5, weight_decay=0.0, momentum=0.0), CPU, stages=stages(model))
    set_gradients(model, 0)
    weight = dict(model.named_parameters())["1.weight"]
    before, gradient = weight.detach().clone(), weight.grad
    assert gradient is not None
    optimizer.step()
    change = (before - weight).detach().reshape(16, -1)
    assert [group["name"] for group in optimizer.param_groups] == ["Muon", "AdamW, decay", "AdamW, no decay"]
    torch.testing.assert_close(change, 0.5 * 0.2 * 72**0.5 * orthogonal(gradient.reshape(16, -1), 5).float())


def test_orthogonal_has_singular_values_near_one() -> None:
    torch.manual_seed(0)
    for shape in ((20, 30), (30, 20), (16, 16)):
        values = torch.linalg.svdvals(orthogonal(torch.randn(shape), 5).float())
        assert values.max() < 1.3
        assert values.median() > 0.6
