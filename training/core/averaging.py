"""Batch norm's statistics of averaged weights, which ``torch.optim.swa_utils.AveragedModel`` leaves to be measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn


@torch.no_grad()
def measure_statistics(model: nn.Module, batches: Iterable[Tensor], autocast: Callable[[], Any]) -> None:
    """Measure batch norm's running means and variances anew over ``batches`` of inputs, as ``update_bn``, but without dropout.

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
