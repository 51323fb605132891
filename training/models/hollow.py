"""A forward pass without data: shapes are worked out, nothing is computed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from training.facts import DataFacts
from training.models.example import example_input


def forward_hollow(model: nn.Module, facts: DataFacts, samples: int = 2) -> Any:
    """What ``model`` returns for ``samples`` samples of such data, as tensors without content (torch's meta device).

    Raises whatever the network raises for samples it cannot take. Weights, buffers and random state stay as they were.
    """
    with torch.no_grad(), torch.random.fork_rng(devices=[]), _without_content(model):
        return model(example_input(facts, samples, "meta"))


@contextmanager
def _without_content(model: nn.Module) -> Iterator[None]:
    """Inside, every parameter and buffer is an empty tensor of its shape; afterwards each is itself again.

    Not ``torch.func.functional_call``: for a module that occurs twice it puts the empty tensors back as the model's own.
    """
    kept: list[tuple[dict[str, Any], str, torch.Tensor]] = [
        (store, name, tensor)
        for module in model.modules()
        for store in (module._parameters, module._buffers)
        for name, tensor in store.items()
        if tensor is not None
    ]
    try:
        for store, name, tensor in kept:
            store[name] = torch.empty_like(tensor, device="meta")
        yield
    finally:
        for store, name, tensor in kept:
            store[name] = tensor
