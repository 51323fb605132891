"""Batch norm's statistics for averaged weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from training.engine.replay import undisturbed
from training.engine.session import Session
from training.optim.ema import Swa

MOST_WINDOWS = 100
"""Steps' worth of training samples that statistics are measured on."""


def measure_statistics(session: Session) -> None:
    """Measure the running means and variances of batch norms anew where weights were taken into an equal average since.

    As ``torch.optim.swa_utils.update_bn`` does it, over the samples of the first epoch's first windows, varied as training
    saw them; but dropout is off, as it will be whenever those statistics are used. What comes out depends on the averaged
    weights and the data alone: whoever looks or saves in between changes nothing of the run.
    """
    average, model = session.ema, session.model
    if not isinstance(average, Swa) or not average.stale or not average.started:
        return
    average.stale = False
    norms: list[Any] = [module for module in model.modules() if _measures(module)]
    if not norms:
        return
    data, momenta = session.data, [norm.momentum for norm in norms]
    try:
        with undisturbed(session), average.swapped(model), torch.no_grad(), session.draws("statistics"):
            model.eval()
            for norm in norms:
                norm.reset_running_stats()
                norm.momentum = None  # the equal average over batches
                norm.train()
            for number in range(min(data.steps_per_epoch, MOST_WINDOWS)):
                for batch in data.window_again(0, number):
                    with session.numerics.autocast():
                        model(batch.inputs)
    finally:
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
        session.freezing.train()


def _measures(module: nn.Module) -> bool:
    """Whether ``module`` keeps statistics, and is not one whose statistics are frozen."""
    return isinstance(module, nn.modules.batchnorm._BatchNorm) and module.track_running_stats and module.training
