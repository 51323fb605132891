"""The moving and the equal average of a model's weights over training, and the statistics of batch norm that go with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn


@torch.no_grad()
def update_average(pairs: Iterable[tuple[Tensor, Tensor]], share: Tensor) -> None:
    """Move the first of each pair towards the second, in place: by ``share`` (0-dim) of the way, so 0 leaves it and 1 copies.

    Integers (batch norm's ``num_batches_tracked``) are copied, unless ``share`` is 0."""
    floats = []
    for average, current in pairs:
        if average.is_floating_point():
            floats.append((average, current, share.to(average.dtype)))
        else:
            average.copy_(torch.where(share > 0, current, average))
    torch._foreach_lerp_(*map(list, zip(*floats, strict=True)))


def ema_share(updates: Tensor, decay: float) -> Tensor:
    """What the exponential moving average takes of the weights after ``updates``: all at the first, lest the initial ones stay."""
    return (updates == 0).float().clamp(min=1.0 - decay)


def swa_share(updates: Tensor) -> Tensor:
    """What stochastic weight averaging (Izmailov et al. 2018, arXiv:1803.05407), an equal average, takes after ``updates``."""
    return 1.0 / (updates + 1)


@torch.no_grad()
def measure_statistics(model: nn.Module, batches: Iterable[Tensor], autocast: Callable[[], Any]) -> None:
    """Measure batch norm's running means and variances again over ``batches`` of inputs, as ``update_bn``, but without dropout.

    ``model`` is in training mode; norms that are not keep their statistics. Afterwards all is in eval mode, if there are norms.
    """
    norms = [
        module
        for module in model.modules()
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.track_running_stats and module.training
    ]
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    model.eval()
    for norm in norms:
        norm.reset_running_stats()
        norm.momentum = None  # the equal average over batches
        norm.train()
    try:
        for inputs in batches:
            with autocast():
                model(inputs)
    finally:
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
            norm.eval()
