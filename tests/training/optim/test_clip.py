"""The measured norm and the clipped gradients are torch's, bit for bit."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import nn

from training.core.clip import clip_value, clip_value_and_norm
from training.optim.fast_clip import clip_norm, gradient_norm
from training.optim.fused_step import put_fused_step


def net(scale: float = 1.0, dtype: torch.dtype = torch.float32) -> nn.Sequential:
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(30, 20), nn.Linear(20, 10), nn.Linear(10, 1)).to(dtype)
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter) * scale
    next(model.parameters()).grad[0, 0] *= 50  # type: ignore[index]
    model[1].bias.grad = None
    return model


def gradients(model: nn.Module) -> list[torch.Tensor]:
    return [parameter.grad for parameter in model.parameters() if parameter.grad is not None]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e6, 1e20])
def test_clip_equals_torch(scale: float, dtype: torch.dtype) -> None:
    ours, theirs = net(scale, dtype), net(scale, dtype)
    wanted = torch.nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
    norm = clip_norm(ours.parameters(), 1.0)
    assert torch.equal(norm, wanted)
    for mine, other in zip(gradients(ours), gradients(theirs), strict=True):
        assert torch.equal(mine, other) or (mine.isnan() == other.isnan()).all()


def test_clip_value_equals_torch() -> None:
    ours, theirs = net(), net()
    torch.nn.utils.clip_grad_value_(theirs.parameters(), 0.5)
    norm = gradient_norm(ours.parameters())
    assert torch.equal(clip_value([*ours.parameters()], 0.5), norm)
    assert all(torch.equal(a, b) for a, b in zip(gradients(ours), gradients(theirs), strict=True))


def test_value_is_clipped_before_the_norm() -> None:
    ours, theirs = net(), net()
    norm = gradient_norm(ours.parameters())
    assert torch.equal(clip_value_and_norm([*ours.parameters()], max_norm=1.0, max_value=0.5), norm)
    torch.nn.utils.clip_grad_value_(theirs.parameters(), 0.5)
    torch.nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
    assert all(torch.equal(a, b) for a, b in zip(gradients(ours), gradients(theirs), strict=True))
    assert gradient_norm(ours.parameters()).item() == pytest.approx(1.0, abs=1e-5)
    # the other order, or the old norm, would have left less than the limit allows
    other = net()
    torch.nn.utils.clip_grad_norm_(other.parameters(), 1.0)
    torch.nn.utils.clip_grad_value_(other.parameters(), 0.5)
    assert gradient_norm(other.parameters()).item() < 0.99


def test_parameters_may_be_an_iterator() -> None:
    model = net()
    clip_norm(iter(list(model.parameters())), 1.0)
    assert gradient_norm(model.parameters()) < 1.001


def test_clipping_to_no_limit_measures_only() -> None:
    ours, theirs = net(), net()
    norm = torch.nn.utils.clip_grad_norm_(ours.parameters(), math.inf)
    assert torch.equal(norm, gradient_norm(theirs.parameters()))
    assert all(torch.equal(a, b) for a, b in zip(gradients(ours), gradients(theirs), strict=True))


def test_norm_of_no_gradients_is_zero() -> None:
    assert gradient_norm(nn.Linear(2, 2).parameters()).item() == 0.0


def test_norm_shows_what_is_not_finite() -> None:
    model = net()
    gradients(model)[2][3] = math.nan
    assert math.isnan(gradient_norm(model.parameters()).item())


@pytest.mark.parametrize("off_by", [-1e-4, -1e-5, -1e-6, -1e-7, 0.0, 1e-7, 1e-6, 1e-5, 1e-4])
def test_at_the_limit_clipping_is_torchs_too(off_by: float) -> None:
    ours, theirs = net(), net()
    limit = gradient_norm(ours.parameters()).item() * (1 + off_by)
    torch.nn.utils.clip_grad_norm_(theirs.parameters(), limit)
    clip_norm(ours.parameters(), limit)
    assert all(torch.equal(a, b) for a, b in zip(gradients(ours), gradients(theirs), strict=True))


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e6, 1e15])
@pytest.mark.parametrize("kind", [torch.optim.AdamW, torch.optim.Adam, torch.optim.SGD])
@pytest.mark.parametrize("hooked", [False, True], ids=["by its kernels", "by torch's step"])
def test_clipped_steps_of_fused_optimizers_are_torchs(kind: Any, scale: float, hooked: bool) -> None:
    settings: dict[str, Any] = {"lr": 0.1, "momentum": 0.9} if kind is torch.optim.SGD else {"lr": 0.1}
    ours, theirs = net(scale), net(scale)
    for model in (ours, theirs):
        gradients(model)[2].mul_(1e-3)
        model[1].bias.grad = torch.zeros(10)
    updated, by_torch = (kind(model.parameters(), fused=True, **settings) for model in (ours, theirs))
    put_fused_step(updated)
    if hooked:
        updated.register_step_post_hook(lambda *_: None)
    for _ in range(3):
        for model in (ours, theirs):
            for number, gradient in enumerate(gradients(model)):
                gradient.copy_(torch.randn(gradient.shape, generator=torch.Generator().manual_seed(number)) * scale)
        clip_norm(ours.parameters(), 1.0)
        updated.step()
        torch.nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
        by_torch.step()
    assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), theirs.parameters(), strict=True))
