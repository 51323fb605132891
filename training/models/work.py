"""How much a network computes."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from training.facts import DataFacts
from training.models.example import example_input

FLOP = 6
"""Floating-point operations of a training step for each multiplication of the forward pass: a multiplication and an
addition there, and twice as many in the backward pass, for the inputs and for the weights."""

Convolution = nn.modules.conv._ConvNd
"""What all of torch's convolutions are, transposed ones too."""

LITTLE = 150e6
"""Floating-point operations of a step (``step_work``) whose forward pass takes a core a millisecond or two."""
MOST_SAMPLES = 1024


def samples_at_once(model: nn.Module, facts: DataFacts, least: int) -> int:
    """Samples to send through the network at a time where no gradients are kept: ``least``, or more where
    those are so little work that calling the layers takes as long as computing.

    A function of the network and the sizes alone, because sums over other batches are rounded otherwise.
    """
    work = step_work(model, facts, 1, enough=LITTLE / least)
    return max(least, min(MOST_SAMPLES, int(LITTLE / work))) if work else least


def step_work(model: nn.Module, facts: DataFacts, batch_size: int, enough: float = math.inf) -> float:
    """Floating-point operations of a training step over ``batch_size`` samples, in matrix products and
    convolutions; any number of at least ``enough`` when there are that many.

    Each weight takes part at least once for each sample; only where that does not settle it, a sample is sent through
    the network (on its device, in evaluation mode, so that nothing of it changes) to see how often.
    """
    least = FLOP * batch_size * sum(parameter.numel() for parameter in model.parameters())
    if least >= enough:
        return float(least)
    return float(max(least, FLOP * batch_size * _multiplications(model, facts, nn.Linear, Convolution)))


def filter_use(model: nn.Module, facts: DataFacts) -> float:
    """How often a sample makes use of a weight of the convolutions, on average; 0 without any."""
    weights = sum(layer.weight.numel() for layer in model.modules() if isinstance(layer, Convolution))
    return _multiplications(model, facts, Convolution) / weights if weights else 0.0


def _multiplications(model: nn.Module, facts: DataFacts, *kinds: type[nn.Module]) -> int:
    """Of one sample's forward pass in layers of ``kinds``: each weight of a layer as often as it makes an output."""
    counted = 0

    def count(layer: nn.Module, _inputs: Any, output: Any) -> None:
        nonlocal counted
        weight = layer.weight
        assert isinstance(weight, Tensor)
        counted += weight.numel() * (output.numel() // output.shape[1 if output.ndim > 2 and weight.ndim > 2 else -1])

    layers = [module for module in model.modules() if isinstance(module, kinds)]
    handles = [layer.register_forward_hook(count) for layer in layers]
    modes = {module: module.training for module in model.modules()}
    parameter = next(model.parameters())
    try:
        with torch.no_grad():
            model.eval()(example_input(facts, 1, parameter.device, parameter.dtype))
    finally:
        for module, mode in modes.items():
            module.training = mode
        for handle in handles:
            handle.remove()
    return counted
