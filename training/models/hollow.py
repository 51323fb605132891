"""A forward pass without data, for the shapes it works out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from training.facts import DataFacts
from training.models.example import example_input
from training.models.user_rng import preserved_rng

SMALL = 25e6
"""Weights up to which a copy of them takes no time to speak of."""

QUICK = 100e9
"""Multiplications, were each weight used for each number of the samples (none does): a second's work at the most."""


def _call(model: nn.Module, inputs: Tensor) -> Any:
    return model(inputs)


def forward_hollow(
    model: nn.Module, facts: DataFacts, samples: int = 2, call: Callable[[nn.Module, Tensor], Any] = _call
) -> Any:
    """What ``model``, called by ``call``, returns for ``samples`` samples of such data, for the shapes of it.

    A small network computes it from zeros: tensors without content (torch's meta device), which larger ones are given, load
    torch's compiler, which takes longer. One that looks at what it computes finds nothing there, and is given zeros, too.
    Raises whatever the network raises for samples it cannot take. Weights, buffers, attributes and random state stay as they were.
    """
    if _is_quick(model, facts, samples):
        return _compute(model, facts, samples, call)
    try:
        return _forward(model, facts, samples, call, "meta", lambda tensor: torch.empty_like(tensor, device="meta"))
    except Exception as error:  # torch has a type of its own for hardly any of these
        if "meta" not in str(error).lower():
            raise
    return _compute(model, facts, samples, call)


def _is_quick(model: nn.Module, facts: DataFacts, samples: int) -> bool:
    weights = sum(parameter.numel() for parameter in model.parameters())
    return weights <= SMALL and weights * samples * math.prod(facts.shape) <= QUICK


def _compute(model: nn.Module, facts: DataFacts, samples: int, call: Callable[[nn.Module, Tensor], Any]) -> Any:
    return _forward(model, facts, samples, call, "cpu", lambda tensor: tensor.detach().to("cpu", copy=True))


def _forward(
    model: nn.Module,
    facts: DataFacts,
    samples: int,
    call: Callable[[nn.Module, Tensor], Any],
    device: str,
    made: Callable[[Tensor], Tensor],
) -> Any:
    with torch.no_grad(), preserved_rng(), _with_other_tensors(model, made):
        return call(model, example_input(facts, samples, device))


@contextmanager
def _with_other_tensors(model: nn.Module, made: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Inside, every parameter and buffer is what ``made`` makes of it; afterwards each is itself again, and so are the
    attributes, in which a network may keep what it computed.

    Not ``torch.func.functional_call``: for a module that occurs twice it puts the other tensors back as the model's own.
    """
    modules = list(model.modules())
    kept: list[tuple[dict[str, Any], str, Tensor]] = [
        (store, name, tensor)
        for module in modules
        for store in (module._parameters, module._buffers)
        for name, tensor in store.items()
        if tensor is not None
    ]
    plain = [module for module in modules if not isinstance(module, torch.jit.ScriptModule)]
    attributes = [(module.__dict__, dict(module.__dict__)) for module in plain]
    try:
        for store, name, tensor in kept:
            store[name] = made(tensor)
        yield
    finally:
        for store, name, tensor in kept:
            store[name] = tensor
        for changed, before in attributes:
            changed.clear()
            changed.update(before)
