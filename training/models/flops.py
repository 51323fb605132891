"""How much a network computes."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from training.facts import DataFacts
from training.models.meta_forward import example_input, switch_mode
from training.own_code.user_rng import preserve_rng

FLOP = 6
"""Floating-point operations of a training step for each multiplication of the forward pass: a multiplication and an
addition there, and twice as many in the backward pass, for the inputs and for the weights."""

Convolution = nn.modules.conv._ConvNd
"""What all of torch's convolutions are, transposed ones too."""

LITTLE = 150e6
"""Floating-point operations of a step (``step_flops``) whose forward pass takes a core a millisecond or two."""
MOST_SAMPLES = 1024


def samples_at_once(model: nn.Module, facts: DataFacts, least: int) -> int:
    """Samples to send through the network at a time where no gradients are kept: ``least``, or more where
    those are so little work that calling the layers takes as long as computing.

    A function of the network and the sizes alone, because sums over other batches are rounded otherwise.
    """
    work = step_flops(model, facts, 1, enough=LITTLE / least)
    return max(least, min(MOST_SAMPLES, int(LITTLE / work))) if work else least


def step_flops(model: nn.Module, facts: DataFacts, batch_size: int, enough: float = math.inf) -> float:
    """Floating-point operations of a training step over ``batch_size`` samples, in matrix products (those of attention, too)
    and convolutions; any number of at least ``enough`` when there are that many.

    Each weight takes part at least once for each sample; only where that does not settle it, a sample is sent through
    the network (on its device, in evaluation mode, so that nothing of it changes) to see how often.
    """
    least = FLOP * batch_size * sum(parameter.numel() for parameter in model.parameters())
    if least >= enough:
        return float(least)
    counted = _count(model, facts)
    return float(max(least, FLOP * batch_size * (counted.products + counted.convolutions)))


def filter_use(model: nn.Module, facts: DataFacts) -> float:
    """How often a sample makes use of a weight of the convolutions, on average; 0 without any."""
    weights = sum(layer.weight.numel() for layer in model.modules() if isinstance(layer, Convolution))
    return _count(model, facts).convolutions / weights if weights else 0.0


class _Multiplications(TorchFunctionMode):
    """Counts those of what is called inside. By torch's functions, since not every network leaves products to layers; torch's
    own counter of operations takes seconds to load."""

    def __init__(self) -> None:
        super().__init__()
        self.products = self.convolutions = 0

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        output = func(*args, **(kwargs or {}))
        if func in _CONVOLUTIONS:
            weight: Tensor = args[1]
            places = args[0] if func in _TRANSPOSED else output  # of each the weights of its channel are used once
            self.convolutions += places.numel() // weight.shape[0] * weight.numel()
        elif func in _PRODUCTS:
            self.products += output.numel() * args[0].shape[-1]
        elif func is functional.scaled_dot_product_attention:
            query, key = args[:2]
            self.products += (query.numel() + output.numel()) * key.shape[-2]
        elif func is functional.multi_head_attention_forward:  # (places, samples, width), or without samples
            query, key = args[:2]
            width = query.shape[-1]
            self.products += 2 * (query.numel() + key.numel()) * width + 2 * query.numel() * key.shape[0]
        return output


_TRANSPOSED = frozenset((torch.conv_transpose1d, torch.conv_transpose2d, torch.conv_transpose3d))
_CONVOLUTIONS = frozenset((torch.conv1d, torch.conv2d, torch.conv3d)) | _TRANSPOSED
_PRODUCTS = frozenset(
    (functional.linear, torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.mm, torch.bmm, Tensor.bmm)
)


def _count(model: nn.Module, facts: DataFacts) -> _Multiplications:
    """Of one sample's forward pass."""
    counted, parameters = _Multiplications(), list(model.parameters())
    kinds = (each.dtype for each in parameters if each.is_floating_point())  # some may be whole or complex
    inputs = example_input(facts, 1, parameters[0].device, next(kinds, torch.float32))
    with torch.no_grad(), preserve_rng(), switch_mode(model, training=False), counted:
        model(inputs)
    return counted
