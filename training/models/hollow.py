"""A forward pass without data: shapes are worked out, nothing is computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from training.facts import DataFacts
from training.models.example import example_input
from training.models.user_rng import preserved_rng


def _call(model: nn.Module, inputs: Tensor) -> Any:
    return model(inputs)


def forward_hollow(
    model: nn.Module, facts: DataFacts, samples: int = 2, call: Callable[[nn.Module, Tensor], Any] = _call
) -> Any:
    """What ``model``, called by ``call``, returns for ``samples`` samples of such data, as tensors without content (torch's meta device).

    A network that looks at what it computes finds nothing there: such a one is given zeros on the processor instead. Raises
    whatever the network raises for samples it cannot take. Weights, buffers, attributes and random state stay as they were.
    """
    try:
        return _forward(model, facts, samples, call, "meta", lambda tensor: torch.empty_like(tensor, device="meta"))
    except Exception as error:  # torch has a type of its own for hardly any of these
        if "meta" not in str(error).lower():
            raise
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
