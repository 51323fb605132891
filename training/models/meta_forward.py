"""A forward pass without data, for the shapes it works out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from training.facts import DataFacts
from training.own_code.user_rng import preserve_rng

SMALL = 25e6
"""Weights up to which a copy of them takes no time to speak of."""

QUICK = 100e9
"""Multiplications, were each weight used for each number of the samples (none does): a second's work at the most."""


def example_input(
    facts: DataFacts, count: int, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32
) -> Tensor:
    """``count`` samples of zeros as a model gets them, (count, *facts.shape): int64 of tokens, else ``dtype``."""
    dtype = torch.int64 if facts.layout == "tokens" else dtype
    return torch.zeros(count, *facts.shape, dtype=dtype, device=device)


def forward_meta(
    model: nn.Module,
    facts: DataFacts,
    samples: int = 2,
    call: Callable[[nn.Module, Tensor], Any] = lambda model, inputs: model(inputs),
) -> Any:
    """What ``model``, called by ``call``, returns for ``samples`` samples of such data, for the shapes of it.

    A small network computes it from zeros: tensors without content (torch's meta device), which larger ones are given, load
    torch's compiler, which takes longer. One that looks at what it computes finds nothing there, and is given zeros, too.
    Raises whatever the network raises for samples it cannot take. Weights, buffers, attributes and random state stay as they were.
    """

    def forward(device: str, replace: Callable[[Tensor], Tensor]) -> Any:
        with torch.no_grad(), preserve_rng(), _with_other_tensors(model, replace):
            return call(model, example_input(facts, samples, device))

    weights = sum(parameter.numel() for parameter in model.parameters())
    if weights > SMALL or weights * samples * math.prod(facts.shape) > QUICK:
        try:
            return forward("meta", partial(torch.empty_like, device="meta"))
        except Exception as error:  # torch has a type of its own for hardly any of these
            if "meta" not in str(error).lower():
                raise
    return forward("cpu", lambda tensor: tensor.detach().to("cpu", copy=True))


@contextmanager
def switch_mode(model: nn.Module, training: bool) -> Iterator[None]:
    """Inside, all of ``model`` trains or is used; afterwards each part does what it did."""
    before = [(part, part.training) for part in model.modules()]
    model.train(training)
    try:
        yield
    finally:
        for part, mode in before:
            part.training = mode


@contextmanager
def _with_other_tensors(model: nn.Module, replace: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Inside, every parameter and buffer is what ``replace`` makes of it; afterwards each is itself again, and so are the
    attributes, in which a network may keep what it computed.

    Not ``torch.func.functional_call``: for a module that occurs twice it puts the other tensors back as the model's own.
    """
    modules = list(model.modules())
    stores = [store for module in modules for store in (module._parameters, module._buffers)]
    kept = [(store, name, tensor) for store in stores for name, tensor in store.items() if tensor is not None]
    plain = [module for module in modules if not isinstance(module, torch.jit.ScriptModule)]
    attributes = [(module.__dict__, dict(module.__dict__)) for module in plain]
    try:
        for store, name, tensor in kept:
            store[name] = replace(tensor)  # type: ignore[assignment]
        yield
    finally:
        for store, name, tensor in kept:
            store[name] = tensor  # type: ignore[assignment]
        for changed, before in attributes:
            changed.clear()
            changed.update(before)
